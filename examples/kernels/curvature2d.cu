// Curvature of a 2-D image as the active contour needs it (Moazeni et al. 2009, Curvature2D): tiles of 16x16 threads, one array in
// shared memory for every quantity: the pixels, their partial derivatives, the derivatives over the gradient norm. A thread
// takes one element of each array; where an array has more elements than threads, the first threads take a second one.
// Launch: blocks (ceil(nx / 16), ceil(ny / 16)), threads (16, 16).
// run: curvature2d<<<(3, 2), (16, 16)>>>(in f32 1189, out f32 1189, 41, 29, 1e-4f)

#define TILE 16
#define HALO (TILE + 2)
#define HALF (TILE + 1)

__device__ int clamped(int i, int n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }

__global__ void curvature2d(const float* __restrict__ image, float* __restrict__ result, int nx, int ny, float eps) {
  __shared__ float pixels[HALO][HALO];
  __shared__ float slope_x[HALO][HALF];  // between columns, for all rows
  __shared__ float slope_y[HALF][HALO];  // between rows, for all columns
  __shared__ float unit_x[TILE][HALF];
  __shared__ float unit_y[HALF][TILE];

  const int t = threadIdx.y * TILE + threadIdx.x, more = t + TILE * TILE;
  const int x0 = blockIdx.x * TILE, y0 = blockIdx.y * TILE;
  for (int i = t; i < HALO * HALO; i += TILE * TILE) {
    pixels[i / HALO][i % HALO] = image[clamped(y0 + i / HALO - 1, ny) * nx + clamped(x0 + i % HALO - 1, nx)];
  }
  __syncthreads();

  // 1. Partial derivatives: two neighbouring pixels each.
  const float dx = pixels[t / HALF][t % HALF + 1] - pixels[t / HALF][t % HALF];
  const float dy = pixels[t / HALO + 1][t % HALO] - pixels[t / HALO][t % HALO];
  float more_dx = 0.0f, more_dy = 0.0f;
  if (more < HALO * HALF) {
    more_dx = pixels[more / HALF][more % HALF + 1] - pixels[more / HALF][more % HALF];
    more_dy = pixels[more / HALO + 1][more % HALO] - pixels[more / HALO][more % HALO];
  }
  slope_x[t / HALF][t % HALF] = dx;
  slope_y[t / HALO][t % HALO] = dy;
  if (more < HALO * HALF) {
    slope_x[more / HALF][more % HALF] = more_dx;
    slope_y[more / HALO][more % HALO] = more_dy;
  }
  __syncthreads();

  // 2. Gradient norms: four neighbouring derivatives of the other axis each.
  int r = t / HALF, c = t % HALF;
  float m = 0.25f * (slope_y[r][c] + slope_y[r + 1][c] + slope_y[r][c + 1] + slope_y[r + 1][c + 1]);
  float d = slope_x[r + 1][c];
  const float ux = d / sqrtf(d * d + m * m + eps);
  r = t / TILE, c = t % TILE;
  m = 0.25f * (slope_x[r][c] + slope_x[r][c + 1] + slope_x[r + 1][c] + slope_x[r + 1][c + 1]);
  d = slope_y[r][c + 1];
  const float uy = d / sqrtf(d * d + m * m + eps);
  float more_ux = 0.0f, more_uy = 0.0f;
  if (more < TILE * HALF) {
    r = more / HALF, c = more % HALF;
    m = 0.25f * (slope_y[r][c] + slope_y[r + 1][c] + slope_y[r][c + 1] + slope_y[r + 1][c + 1]);
    d = slope_x[r + 1][c];
    more_ux = d / sqrtf(d * d + m * m + eps);
    r = more / TILE, c = more % TILE;
    m = 0.25f * (slope_x[r][c] + slope_x[r][c + 1] + slope_x[r + 1][c] + slope_x[r + 1][c + 1]);
    d = slope_y[r][c + 1];
    more_uy = d / sqrtf(d * d + m * m + eps);
  }
  unit_x[t / HALF][t % HALF] = ux;
  unit_y[t / TILE][t % TILE] = uy;
  if (more < TILE * HALF) {
    unit_x[more / HALF][more % HALF] = more_ux;
    unit_y[more / TILE][more % TILE] = more_uy;
  }
  __syncthreads();

  // 3. Divergence: two neighbours along each axis.
  const int x = threadIdx.x, y = threadIdx.y;
  if (x0 + x < nx && y0 + y < ny) {
    result[(y0 + y) * nx + x0 + x] = unit_x[y][x + 1] - unit_x[y][x] + unit_y[y + 1][x] - unit_y[y][x];
  }
}
