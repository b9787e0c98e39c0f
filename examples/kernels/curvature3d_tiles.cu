// Curvature of a 3-D image with tiles of 32x8x8 pixels: every quantity of the paper's three steps in shared memory, loops that take
// the elements of each array in turn. 78 KB a block: here shared memory decides how many blocks a multiprocessor holds.
// Launch: blocks (ceil(nx / 32), ceil(ny / 8), ceil(nz / 8)), threads 512.
// run: curvature3d_tiles<<<(1, 2, 1), 512>>>(in f32 1276, out f32 1276, 29, 11, 4, 1e-4f)

#define X 32
#define Y 8
#define Z 8
#define THREADS 512

__device__ int clamped(int i, int n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }

// Difference d over the norm of (d, the averages of four differences along the two other axes).
__device__ float over_norm(float d, float four_a, float four_b, float eps) {
  const float a = 0.25f * four_a, b = 0.25f * four_b;
  return d / sqrtf(d * d + a * a + b * b + eps);
}

__global__ void __launch_bounds__(THREADS, 3)
curvature3d_tiles(const float* __restrict__ image, float* __restrict__ result, int nx, int ny, int nz, float eps) {
  __shared__ float u[Z + 2][Y + 2][X + 2];
  __shared__ float dx[Z + 2][Y + 2][X + 1], dy[Z + 2][Y + 1][X + 2], dz[Z + 1][Y + 2][X + 2];
  __shared__ float fx[Z][Y][X + 1], fy[Z][Y + 1][X], fz[Z + 1][Y][X];

  const int t = threadIdx.x, x0 = blockIdx.x * X, y0 = blockIdx.y * Y, z0 = blockIdx.z * Z;
  for (int i = t; i < (Z + 2) * (Y + 2) * (X + 2); i += THREADS) {
    const int x = i % (X + 2), y = i / (X + 2) % (Y + 2), z = i / ((X + 2) * (Y + 2));
    u[z][y][x] = image[(clamped(z0 + z - 1, nz) * ny + clamped(y0 + y - 1, ny)) * nx + clamped(x0 + x - 1, nx)];
  }
  __syncthreads();

  for (int i = t; i < (Z + 2) * (Y + 2) * (X + 1); i += THREADS) {
    const int x = i % (X + 1), y = i / (X + 1) % (Y + 2), z = i / ((X + 1) * (Y + 2));
    dx[z][y][x] = u[z][y][x + 1] - u[z][y][x];
  }
  for (int i = t; i < (Z + 2) * (Y + 1) * (X + 2); i += THREADS) {
    const int x = i % (X + 2), y = i / (X + 2) % (Y + 1), z = i / ((X + 2) * (Y + 1));
    dy[z][y][x] = u[z][y + 1][x] - u[z][y][x];
  }
  for (int i = t; i < (Z + 1) * (Y + 2) * (X + 2); i += THREADS) {
    const int x = i % (X + 2), y = i / (X + 2) % (Y + 2), z = i / ((X + 2) * (Y + 2));
    dz[z][y][x] = u[z + 1][y][x] - u[z][y][x];
  }
  __syncthreads();

  for (int i = t; i < Z * Y * (X + 1); i += THREADS) {
    const int x = i % (X + 1), y = i / (X + 1) % Y, z = i / ((X + 1) * Y);
    fx[z][y][x] = over_norm(dx[z + 1][y + 1][x], dy[z + 1][y][x] + dy[z + 1][y + 1][x] + dy[z + 1][y][x + 1] + dy[z + 1][y + 1][x + 1],
                            dz[z][y + 1][x] + dz[z + 1][y + 1][x] + dz[z][y + 1][x + 1] + dz[z + 1][y + 1][x + 1], eps);
  }
  for (int i = t; i < Z * (Y + 1) * X; i += THREADS) {
    const int x = i % X, y = i / X % (Y + 1), z = i / (X * (Y + 1));
    fy[z][y][x] = over_norm(dy[z + 1][y][x + 1], dx[z + 1][y][x] + dx[z + 1][y][x + 1] + dx[z + 1][y + 1][x] + dx[z + 1][y + 1][x + 1],
                            dz[z][y][x + 1] + dz[z + 1][y][x + 1] + dz[z][y + 1][x + 1] + dz[z + 1][y + 1][x + 1], eps);
  }
  for (int i = t; i < (Z + 1) * Y * X; i += THREADS) {
    const int x = i % X, y = i / X % Y, z = i / (X * Y);
    fz[z][y][x] = over_norm(dz[z][y + 1][x + 1], dx[z][y + 1][x] + dx[z][y + 1][x + 1] + dx[z + 1][y + 1][x] + dx[z + 1][y + 1][x + 1],
                            dy[z][y][x + 1] + dy[z][y + 1][x + 1] + dy[z + 1][y][x + 1] + dy[z + 1][y + 1][x + 1], eps);
  }
  __syncthreads();

  for (int i = t; i < X * Y * Z; i += THREADS) {
    const int x = i % X, y = i / X % Y, z = i / (X * Y);
    if (x0 + x >= nx || y0 + y >= ny || z0 + z >= nz) continue;
    result[((z0 + z) * ny + y0 + y) * nx + x0 + x] =
        fx[z][y][x + 1] - fx[z][y][x] + fy[z][y + 1][x] - fy[z][y][x] + fz[z + 1][y][x] - fz[z][y][x];
  }
}
