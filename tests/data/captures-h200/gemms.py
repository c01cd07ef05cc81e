"""Matrix products of known cost, 2 x 2048^3 operations each, and a few kernels beside them."""

import torch

n = 2048
torch.backends.cuda.matmul.allow_tf32 = False
for kind in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
    product = torch.ones(n, n, device="cuda", dtype=kind) @ torch.ones(n, n, device="cuda", dtype=kind)
torch.backends.cuda.matmul.allow_tf32 = True
product = torch.ones(n, n, device="cuda") @ torch.ones(n, n, device="cuda")
one = torch.ones(n, n, device="cuda").to(torch.float8_e4m3fn)
scale = torch.tensor(1.0, device="cuda")
product = torch._scaled_mm(one, one.t(), scale_a=scale, scale_b=scale, out_dtype=torch.bfloat16)
one = torch.ones(n, n, device="cuda", dtype=torch.int8)
product = torch._int_mm(one, one.t())
x = torch.ones(4096, 4096, device="cuda")
y = torch.softmax(x, -1)
z = torch.nn.functional.layer_norm(x, (4096,))
i = torch.ones(1 << 24, device="cuda", dtype=torch.int32)
j = (i << 3) ^ (i + 7)
torch.cuda.synchronize()
