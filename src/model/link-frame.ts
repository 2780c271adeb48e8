/** A frame of Feishu's long connection. Both sides speak it, in Protocol Buffers. */
export interface LinkFrame {
  readonly seqId: bigint;
  readonly logId: bigint;
  /** Names the connection; stands in the address that it was opened with. */
  readonly service: number;
  readonly method: LinkMethod;
  readonly headers: readonly (readonly [key: string, value: string])[];
  readonly payloadEncoding?: string;
  readonly payloadType?: string;
  readonly payload: Buffer;
  readonly logIdNew?: string;
}

/** What a frame is for. */
export type LinkMethod = 'control' | 'data';

const methods: readonly LinkMethod[] = ['control', 'data'];
const [varint, bytes] = [0, 2];
const isBytes = (value: unknown): value is Buffer => Buffer.isBuffer(value);

/** The value of a header, `undefined` when it is not there. */
export function linkHeader({ headers }: LinkFrame, name: string): string | undefined {
  return headers.find(([key]) => key === name)?.[1];
}

/** Bytes of a frame. */
export function encodeLinkFrame(frame: LinkFrame): Buffer {
  const { seqId, logId, service, method, headers, payloadEncoding, payloadType, payload, logIdNew } = frame;
  const text = (field: number, value: string | undefined): Buffer[] =>
    value === undefined ? [] : lengthField(field, Buffer.from(value));
  return Buffer.concat([
    ...numberField(1, seqId),
    ...numberField(2, logId),
    ...numberField(3, BigInt(service)),
    ...numberField(4, BigInt(methods.indexOf(method))),
    ...headers.flatMap(([key, value]) => lengthField(5, Buffer.concat([...text(1, key), ...text(2, value)]))),
    ...text(6, payloadEncoding),
    ...text(7, payloadType),
    ...lengthField(8, payload),
    ...text(9, logIdNew),
  ]);
}

/** The frame in some bytes; `undefined` when they are none. Fields that are not known are passed over. Total. */
export function decodeLinkFrame(message: Buffer): LinkFrame | undefined {
  const fields = fieldsOf(message);
  if (fields === undefined) return undefined;
  const number = (field: number): bigint =>
    (fields.get(field) ?? []).findLast((value) => typeof value === 'bigint') ?? 0n;
  const text = (field: number): string | undefined => fields.get(field)?.findLast(isBytes)?.toString('utf8');
  const headers: [string, string][] = [];
  for (const entry of (fields.get(5) ?? []).filter(isBytes)) {
    const pair = fieldsOf(entry);
    if (pair === undefined) return undefined;
    const [key, value] = [1, 2].map((field) => pair.get(field)?.findLast(isBytes)?.toString('utf8') ?? '');
    headers.push([key ?? '', value ?? '']);
  }
  const method = methods[Number(number(4))];
  if (method === undefined) return undefined;
  const [payloadEncoding, payloadType, logIdNew] = [text(6), text(7), text(9)];
  return {
    seqId: number(1),
    logId: number(2),
    service: Number(BigInt.asIntN(32, number(3))),
    method,
    headers,
    ...(payloadEncoding === undefined ? {} : { payloadEncoding }),
    ...(payloadType === undefined ? {} : { payloadType }),
    payload: fields.get(8)?.findLast(isBytes) ?? Buffer.alloc(0),
    ...(logIdNew === undefined ? {} : { logIdNew }),
  };
}

function numberField(field: number, value: bigint): Buffer[] {
  return [varintOf(BigInt((field << 3) | varint)), varintOf(BigInt.asUintN(64, value))];
}

function lengthField(field: number, value: Buffer): Buffer[] {
  return [varintOf(BigInt((field << 3) | bytes)), varintOf(BigInt(value.length)), value];
}

function varintOf(value: bigint): Buffer {
  const digits: number[] = [];
  let rest = value;
  do {
    const more = rest > 0x7fn;
    digits.push(Number(rest & 0x7fn) | (more ? 0x80 : 0));
    rest >>= 7n;
  } while (rest > 0n);
  return Buffer.from(digits);
}

/** All fields of a message by number; of the wire types that frames use. */
function fieldsOf(message: Buffer): Map<number, (bigint | Buffer)[]> | undefined {
  const fields = new Map<number, (bigint | Buffer)[]>();
  let at = 0;
  const next = (): bigint | undefined => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const digit = message[at++];
      if (digit === undefined) return undefined;
      value |= BigInt(digit & 0x7f) << shift;
      if (digit < 0x80) return value;
    }
    return undefined;
  };
  while (at < message.length) {
    const tag = next();
    const value = next();
    if (tag === undefined || value === undefined) return undefined;
    const [field, wire] = [Number(tag >> 3n), Number(tag & 7n)];
    const found = fields.get(field) ?? [];
    fields.set(field, found);
    if (wire === varint) found.push(value);
    else if (wire === bytes && value <= BigInt(message.length - at)) {
      found.push(message.subarray(at, at + Number(value)));
      at += Number(value);
    } else return undefined;
  }
  return fields;
}
