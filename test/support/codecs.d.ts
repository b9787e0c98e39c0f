// Encoders of optional packages that come without types.

interface Encoder {
  getDecodedBuffer: (about: object) => Uint8Array;
  encode: () => void;
  getEncodedBuffer: () => Uint8Array;
  delete: () => void;
}

declare module '@cornerstonejs/codec-charls/wasmjs' {
  export default function open(instance: object): Promise<{ readonly JpegLSEncoder: new () => Encoder }>;
}

declare module '@cornerstonejs/codec-openjpeg/wasmjs' {
  export default function open(instance: object): Promise<{ readonly J2KEncoder: new () => Encoder }>;
}
