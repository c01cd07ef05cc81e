import torch

torch.backends.cuda.matmul.allow_tf32 = False
torch.manual_seed(0)
n = 2048


def pair(dt, dev="cuda"):
    return torch.ones(n, n, device=dev, dtype=dt), torch.ones(n, n, device=dev, dtype=dt)


for dt in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
    a, b = pair(dt)
    c = a @ b
torch.backends.cuda.matmul.allow_tf32 = True
a, b = pair(torch.float32)
c = a @ b
try:
    a = torch.ones(n, n, device="cuda").to(torch.float8_e4m3fn)
    b = torch.ones(n, n, device="cuda").to(torch.float8_e4m3fn).t()
    s = torch.tensor(1.0, device="cuda")
    c = torch._scaled_mm(a, b, scale_a=s, scale_b=s, out_dtype=torch.bfloat16)
except Exception as e:
    print("fp8", e)
try:
    a = torch.ones(n, n, device="cuda", dtype=torch.int8)
    b = torch.ones(n, n, device="cuda", dtype=torch.int8).t()
    c = torch._int_mm(a, b)
except Exception as e:
    print("int8", e)
x = torch.ones(4096, 4096, device="cuda")
y = torch.softmax(x, -1)
z = torch.nn.functional.layer_norm(x, (4096,))
i = torch.ones(1 << 24, device="cuda", dtype=torch.int32)
j = (i << 3) ^ (i + 7)
torch.cuda.synchronize()
print("torch done")
