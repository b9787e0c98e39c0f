// Curvature of a 2-D image as the active contour needs it (Moazeni et al. 2009, Curvature2D): tiles of 16x16 threads, one array in
// shared memory for every quantity: the pixels, their partial derivatives, the derivatives over the gradient norm. A thread
// takes one element of each array; where an array has more elements than threads, the first threads take a second one.
// Launch: blocks (ceil(nx / 16), ceil(ny / 16)), threads (16, 16).
// run: curvature2d<<<(3, 2), (16, 16)>>>(in f32 1189, out f32 1189, 41, 29, 1e-4f)

#define TILE 16
#define HALO (TILE + 2)
#define HALF (TILE + 1)

__device__ int clamped(int i, int n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }

// Difference d over the norm of (d, the average of four differences across).
__device__ float over_norm(float d, float four, float eps) {
  const float m = 0.25f * four;
  return d / sqrtf(d * d + m * m + eps);
}

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
  const float ux = over_norm(slope_x[t / HALF + 1][t % HALF], slope_y[t / HALF][t % HALF] + slope_y[t / HALF + 1][t % HALF]
                             + slope_y[t / HALF][t % HALF + 1] + slope_y[t / HALF + 1][t % HALF + 1], eps);
  const float uy = over_norm(slope_y[t / TILE][t % TILE + 1], slope_x[t / TILE][t % TILE] + slope_x[t / TILE][t % TILE + 1]
                             + slope_x[t / TILE + 1][t % TILE] + slope_x[t / TILE + 1][t % TILE + 1], eps);
  float more_ux = 0.0f, more_uy = 0.0f;
  if (more < TILE * HALF) {
    const int rx = more / HALF, cx = more % HALF, ry = more / TILE, cy = more % TILE;
    more_ux = over_norm(slope_x[rx + 1][cx], slope_y[rx][cx] + slope_y[rx + 1][cx] + slope_y[rx][cx + 1] + slope_y[rx + 1][cx + 1], eps);
    more_uy = over_norm(slope_y[ry][cy + 1], slope_x[ry][cy] + slope_x[ry][cy + 1] + slope_x[ry + 1][cy] + slope_x[ry + 1][cy + 1], eps);
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
