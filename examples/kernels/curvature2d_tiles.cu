// Curvature of a 2-D image with tiles of 64x64 pixels: every quantity of the paper's three steps in shared memory, loops that take
// the elements of each array in turn. 85 KB a block: here shared memory decides how many blocks a multiprocessor holds.
// Launch: blocks (ceil(nx / 64), ceil(ny / 64)), threads 512.
// run: curvature2d_tiles<<<(1, 1), 512>>>(in f32 1961, out f32 1961, 53, 37, 1e-4f)

#define TILE 64
#define HALO (TILE + 2)
#define HALF (TILE + 1)
#define THREADS 512

__device__ int clamped(int i, int n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }

// Difference d over the norm of (d, the average of four differences across).
__device__ float over_norm(float d, float four, float eps) {
  const float m = 0.25f * four;
  return d / sqrtf(d * d + m * m + eps);
}

__global__ void __launch_bounds__(THREADS, 3)
curvature2d_tiles(const float* __restrict__ image, float* __restrict__ result, int nx, int ny, float eps) {
  __shared__ float pixels[HALO][HALO];
  __shared__ float slope_x[HALO][HALF], slope_y[HALF][HALO];
  __shared__ float unit_x[TILE][HALF], unit_y[HALF][TILE];

  const int t = threadIdx.x, x0 = blockIdx.x * TILE, y0 = blockIdx.y * TILE;
  for (int i = t; i < HALO * HALO; i += THREADS) {
    pixels[i / HALO][i % HALO] = image[clamped(y0 + i / HALO - 1, ny) * nx + clamped(x0 + i % HALO - 1, nx)];
  }
  __syncthreads();

  for (int i = t; i < HALO * HALF; i += THREADS) {
    slope_x[i / HALF][i % HALF] = pixels[i / HALF][i % HALF + 1] - pixels[i / HALF][i % HALF];
  }
  for (int i = t; i < HALF * HALO; i += THREADS) {
    slope_y[i / HALO][i % HALO] = pixels[i / HALO + 1][i % HALO] - pixels[i / HALO][i % HALO];
  }
  __syncthreads();

  for (int i = t; i < TILE * HALF; i += THREADS) {
    const int r = i / HALF, c = i % HALF;
    unit_x[r][c] = over_norm(slope_x[r + 1][c], slope_y[r][c] + slope_y[r + 1][c] + slope_y[r][c + 1] + slope_y[r + 1][c + 1], eps);
  }
  for (int i = t; i < HALF * TILE; i += THREADS) {
    const int r = i / TILE, c = i % TILE;
    unit_y[r][c] = over_norm(slope_y[r][c + 1], slope_x[r][c] + slope_x[r][c + 1] + slope_x[r + 1][c] + slope_x[r + 1][c + 1], eps);
  }
  __syncthreads();

  for (int i = t; i < TILE * TILE; i += THREADS) {
    const int x = i % TILE, y = i / TILE;
    if (x0 + x >= nx || y0 + y >= ny) continue;
    result[(y0 + y) * nx + x0 + x] = unit_x[y][x + 1] - unit_x[y][x] + unit_y[y + 1][x] - unit_y[y][x];
  }
}
