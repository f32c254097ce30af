/**
 * The body of a request.
 *
 * RBD1  It is bounded: of a longer one nothing more is read, and it is answered at once.
 */
import type { IncomingMessage } from 'node:http';
import { offstageError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import { protocolError } from '../handler.ts';
import type { WireFields } from '../rename.ts';
import { invalidField } from '../request-fields.ts';

const tooLarge = (bytes: number) => offstageError('limit.input_bytes', { bytes, limit: LIMITS.frameBytes });

/** @throws OffstageError `limit.input_bytes`; `control.protocol` when it is not UTF-8, or was cut off */
export async function readText(request: IncomingMessage): Promise<string> {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > LIMITS.frameBytes) throw tooLarge(announced);
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const part of request) {
      bytes += (part as Buffer).length;
      if (bytes > LIMITS.frameBytes) break;
      parts.push(part as Buffer);
    }
  } catch {
    throw protocolError('the body was cut off');
  }
  if (bytes > LIMITS.frameBytes) throw tooLarge(bytes);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(parts));
  } catch {
    throw protocolError('the body is not valid UTF-8');
  }
}

/** The fields of a JSON body; none of an empty one. @throws OffstageError as `readText`; `control.protocol`, `input.invalid` */
export async function readFields(request: IncomingMessage): Promise<WireFields> {
  const text = await readText(request);
  if (text.trim() === '') return {};
  if (!/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(request.headers['content-type'] ?? '')) {
    throw invalidField('Content-Type', 'it must be application/json');
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw protocolError('the body is not JSON');
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as WireFields;
  throw protocolError('the body must be an object');
}
