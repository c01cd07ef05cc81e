"""Two training steps of a small network: many launches that do little."""

import torch

torch.manual_seed(0)
m = torch.nn.Sequential(
    torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.LayerNorm(64), torch.nn.Linear(64, 10)
).cuda()
opt = torch.optim.Adam(m.parameters(), foreach=False)
x = torch.ones(32, 64, device="cuda")
t = torch.zeros(32, dtype=torch.long, device="cuda")
big = torch.ones(1 << 26, device="cuda")
for _ in range(2):
    loss = torch.nn.functional.cross_entropy(m(x), t)
    opt.zero_grad()
    loss.backward()
    opt.step()
big.mul_(1.5)
torch.cuda.synchronize()
