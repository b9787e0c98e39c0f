// One explicit step of curvature registration (Fischer and Modersitzki 2003) on tiles of 16x24 threads, the kernel that Moazeni et
// al. (2009) could not save on: u' = u + dt (force - alpha Laplace(Laplace(u))) for both components of the displacement.
// Each component has its tile (border of two) and the Laplacian of it (border of one) in shared memory. Replicated borders.
// Launch: blocks (ceil(nx / 16), ceil(ny / 24)), threads (16, 24).
// run: registration_step<<<(2, 2), (16, 24)>>>(in f32 783, in f32 783, in f32 783, in f32 783, out f32 783, out f32 783, 27, 29, .1f, .2f)

#define TILE_X 16
#define TILE_Y 24

__device__ int clamped(int i, int n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }

__global__ void registration_step(const float* __restrict__ u1, const float* __restrict__ u2, const float* __restrict__ force1,
                                  const float* __restrict__ force2, float* __restrict__ next1, float* __restrict__ next2, int nx, int ny,
                                  float alpha, float dt) {
  __shared__ float tile1[TILE_Y + 4][TILE_X + 4];
  __shared__ float tile2[TILE_Y + 4][TILE_X + 4];
  __shared__ float laplace1[TILE_Y + 2][TILE_X + 2];
  __shared__ float laplace2[TILE_Y + 2][TILE_X + 2];

  const int tx = threadIdx.x, ty = threadIdx.y, t = ty * TILE_X + tx;
  const int x0 = blockIdx.x * TILE_X, y0 = blockIdx.y * TILE_Y;
  const int at = clamped(y0 + ty, ny) * nx + clamped(x0 + tx, nx);
  for (int i = t; i < (TILE_X + 4) * (TILE_Y + 4); i += TILE_X * TILE_Y) {
    const int lx = i % (TILE_X + 4), ly = i / (TILE_X + 4);
    tile1[ly][lx] = u1[clamped(y0 + ly - 2, ny) * nx + clamped(x0 + lx - 2, nx)];
  }
  for (int i = t; i < (TILE_X + 4) * (TILE_Y + 4); i += TILE_X * TILE_Y) {
    const int lx = i % (TILE_X + 4), ly = i / (TILE_X + 4);
    tile2[ly][lx] = u2[clamped(y0 + ly - 2, ny) * nx + clamped(x0 + lx - 2, nx)];
  }
  __syncthreads();

  for (int i = t; i < (TILE_X + 2) * (TILE_Y + 2); i += TILE_X * TILE_Y) {
    const int lx = i % (TILE_X + 2), ly = i / (TILE_X + 2);
    laplace1[ly][lx] = tile1[ly][lx + 1] + tile1[ly + 2][lx + 1] + tile1[ly + 1][lx] + tile1[ly + 1][lx + 2] - 4.0f * tile1[ly + 1][lx + 1];
  }
  for (int i = t; i < (TILE_X + 2) * (TILE_Y + 2); i += TILE_X * TILE_Y) {
    const int lx = i % (TILE_X + 2), ly = i / (TILE_X + 2);
    laplace2[ly][lx] = tile2[ly][lx + 1] + tile2[ly + 2][lx + 1] + tile2[ly + 1][lx] + tile2[ly + 1][lx + 2] - 4.0f * tile2[ly + 1][lx + 1];
  }
  __syncthreads();

  const float biharmonic1 = laplace1[ty][tx + 1] + laplace1[ty + 2][tx + 1] + laplace1[ty + 1][tx] + laplace1[ty + 1][tx + 2]
                            - 4.0f * laplace1[ty + 1][tx + 1];
  const float moved1 = tile1[ty + 2][tx + 2] + dt * (force1[at] - alpha * biharmonic1);
  const float biharmonic2 = laplace2[ty][tx + 1] + laplace2[ty + 2][tx + 1] + laplace2[ty + 1][tx] + laplace2[ty + 1][tx + 2]
                            - 4.0f * laplace2[ty + 1][tx + 1];
  const float moved2 = tile2[ty + 2][tx + 2] + dt * (force2[at] - alpha * biharmonic2);
  if (x0 + tx < nx && y0 + ty < ny) {
    next1[at] = moved1;
    next2[at] = moved2;
  }
}
