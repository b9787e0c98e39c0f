// What the figures of imaging stand beside: the same work by others, in seconds or in the unit of the row.
//
// GPU: one NVIDIA H200, CUDA 13.0, kernels written by hand for comparison and public packages at their releases of 2026 (scikit-image
// 0.26, cuCIM's source on CuPy, the CCPi regularisation toolkit, torch.compile), each in its own process. Hand-written kernels: replay
// of a CUDA graph, median of 11; cold rotates buffers beyond the L2. Host packages: 8 cores. See docs/imaging.md.
import type { Row } from './report.ts';

type Named = Readonly<Record<string, number>>;

/** Microseconds by size, for peers of a column. */
function column(name: string, ...figures: readonly (readonly [size: string | number, microseconds: number])[]) {
  return { name, figures: new Map(figures.map(([size, value]) => [String(size), value / 1e6])) };
}

/** Row prefix (size and what follows it left out) to peers on the GPU. */
const onGpu: Readonly<Record<string, readonly ReturnType<typeof column>[]>> = {
  'curvature3d/float32/hot': [
    column('plain kernel', [64, 4.811], [128, 28.968], [256, 221.21]),
    column('tiles as in the paper', [64, 15.581], [128, 96.202], [256, 744.42]),
    column('tiles, memory reused', [64, 13.789], [128, 61.49], [256, 447.984]),
    column('torch.compile', [128, 394.05], [256, 2786.475]), column('copy', [64, 1.443], [128, 3.402], [256, 36.172]),
  ],
  'curvature3d/float32/cold': [
    column('plain kernel', [64, 5.116], [128, 29.145], [256, 221.246]),
    column('tiles as in the paper', [64, 16.574], [128, 97.343], [256, 746.296]),
    column('tiles, memory reused', [64, 15.203], [128, 62.849], [256, 447.944]), column('copy', [64, 2.278], [128, 6.026], [256, 36.184]),
  ],
  'curvature2d/float32/hot': [
    column('plain kernel', [256, 1.519], [512, 2.625], [1024, 6.63], [4096, 95.436]),
    column('tiles as in the paper', [256, 3.758], [512, 7.446], [1024, 20.871], [4096, 312.298]),
    column('tiles, memory reused', [512, 9.976], [1024, 12.931], [4096, 161.026]),
    column('torch.compile', [1024, 60.52], [4096, 896.57]), column('copy', [256, 1.227], [512, 1.465], [1024, 2.295], [4096, 36.12]),
  ],
  'curvature2d/float32/cold': [
    column('plain kernel', [512, 3.417], [1024, 7.728], [4096, 95.228]), column('copy', [512, 2.285], [1024, 3.884], [4096, 36.132]),
    column('tiles as in the paper', [512, 8.531], [1024, 22.791], [4096, 312.682]),
    column('tiles, memory reused', [512, 12.485], [1024, 15.682], [4096, 160.99]),
  ],
  'tv/iteration': [
    column('hand-written Chambolle step', [16, 2.073], [32, 2.105], [64, 4.642], [128, 27.215], [256, 199.101]),
    column('hand-written descent step', [16, 1.647], [32, 1.734], [64, 4.776], [128, 28.156], [256, 216.653]),
    column('CCPi ROF_TV', [64, 50.388], [128, 113.654], [256, 889.649]),
    column('CCPi PD_TV', [64, 61.142], [128, 151.081], [256, 1040.301]),
    column('CCPi FGP_TV', [64, 91.453], [128, 224.698], [256, 1263.028]), column('cuCIM', [64, 756.3], [128, 757.257], [256, 2881.292]),
  ],
  'tv/to-energy': [column('CCPi PD_TV', [128, 19_226]), column('CCPi FGP_TV', [128, 25_544])],
  'chan-vese/iteration': [
    column('hand-written step', [64, 2.509], [128, 2.594], [256, 3.875], [512, 8.586], [1024, 24.641], [2048, 90.922], [4096, 368.19]),
    column('cuCIM', [64, 500.82], [128, 550.538], [256, 553.835], [512, 551.811], [1024, 371.402], [2048, 514.854], [4096, 1010.074]),
  ],
  'registration/iteration': [
    column('CuPy DCT', ['128^2', 1841.776], ['256^2', 2586.384], ['512^2', 1409.68], ['1024^2', 2877.079], ['2048^2', 2420.822],
      ['32^3', 3412.125], ['64^3', 6411.831], ['128^3', 6343.968], ['256^3', 15_532.185]),
  ],
};

/** Likewise on the host. */
const onCpu: typeof onGpu = {
  'tv/iteration': [
    column('scikit-image, 1 core', [16, 113.739], [32, 448.399], [64, 4233.614], [128, 52_040.017], [256, 558_098.123]),
    column('CCPi PD_TV, 8 cores', [64, 551.235], [128, 3518.5], [256, 26_461.854]),
    column('CCPi FGP_TV, 8 cores', [64, 741.801], [128, 5400.653], [256, 39_159.719]),
  ],
  'chan-vese/iteration': [
    column('scikit-image, 1 core', [64, 473.169], [128, 1051.857], [256, 3344.1], [512, 16_138.828], [1024, 92_370.375],
      [2048, 484_283.852], [4096, 2_650_486.785]),
  ],
  'registration/iteration': [
    column('SciPy DCT, 8 threads', ['128^2', 3715.672], ['256^2', 11_531.45], ['512^2', 41_050.715], ['1024^2', 137_886.626],
      ['32^3', 10_156.743], ['64^3', 80_660.765], ['128^3', 680_661.414]),
  ],
};

/** The figures of others for a row: its size is the part of the id that looks like one. */
export function peersOf(id: string, backend: string): Named {
  const parts = id.split('/');
  const at = parts.findIndex((part) => /^\d+(\^\d)?$/.test(part));
  if (at < 0) return {};
  const size = parts[at]!;
  const prefix = parts.filter((_, i) => i !== at).join('/');
  const table = backend === 'cuda' ? onGpu : backend === 'cpu' ? onCpu : {};
  const columns = Object.entries(table).find(([key]) => prefix === key || prefix.startsWith(`${key}/`))?.[1] ?? [];
  return Object.fromEntries(columns.flatMap(({ name, figures }) => (figures.has(size) ? [[name, figures.get(size)!]] : [])));
}

/** A row with the figures of others beside its own peers, told apart as constants. */
export function withPeers(row: Row, backend: string): Row {
  const others = peersOf(row.id, backend);
  const peers = { ...others, ...row.peers };
  if (Object.keys(peers).length === 0) return row;
  const constants = [...Object.keys(others).filter((name) => row.peers?.[name] === undefined), ...(row.constants ?? [])];
  return { ...row, peers, ...(constants.length === 0 ? {} : { constants }) };
}
