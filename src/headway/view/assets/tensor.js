/** Tensors as they arrive: base64 of little-endian numbers. Decoded once, on demand. */

/**
 * @typedef {{shape: number[], dtype: "float32"|"float16", data: string}} Packed
 * @typedef {{shape: number[], data: Float32Array}} Tensor
 */

/** @type {WeakMap<Packed, Tensor>} */
const decoded = new WeakMap();

/** @param {Packed|null|undefined} packed @returns {Tensor|null} */
export function unpack(packed) {
  if (!packed) return null;
  let tensor = decoded.get(packed);
  if (!tensor) {
    const bytes = fromBase64(packed.data);
    const data = packed.dtype === "float16" ? fromHalves(bytes) : fromFloats(bytes);
    tensor = { shape: packed.shape, data };
    decoded.set(packed, tensor);
  }
  return tensor;
}

/** The i-th row of a matrix. @param {Tensor} tensor @param {number} i */
export function rowOf(tensor, i) {
  const width = tensor.shape[tensor.shape.length - 1];
  return tensor.data.subarray(i * width, (i + 1) * width);
}

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

function fromFloats(bytes) {
  return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 2);
}

function fromHalves(bytes) {
  if (globalThis.Float16Array) {
    return new Float32Array(
      new Float16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 1),
    );
  }
  const bits = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 1);
  const values = new Float32Array(bits.length);
  for (let i = 0; i < bits.length; i++) values[i] = half(bits[i]);
  return values;
}

const POWERS = Array.from({ length: 31 }, (_, exponent) => 2 ** (exponent - 25));

/** IEEE 754 binary16. @param {number} bits */
function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1024 + fraction) * POWERS[exponent];
}
