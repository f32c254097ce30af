/**
 * The body of a request.
 *
 * RBD1  It is bounded: of a longer one nothing more is read, and it is answered at once.
 */
import type { IncomingMessage } from 'node:http';
import { offstageError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import { protocolError } from '../requests/handler.ts';
import { invalidField } from '../requests/request-fields.ts';
import type { WireFields } from '../wire/rename.ts';

const tooLarge = (bytes: number) => offstageError('limit.input_bytes', { bytes, limit: LIMITS.frameBytes });

/** @throws OffstageError `limit.input_bytes`; `control.protocol` when it is not UTF-8, or was cut off */
export async function readText(request: IncomingMessage): Promise<string> {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > LIMITS.frameBytes) throw tooLarge(announced);
  const bytes = await collect(request);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw protocolError('the body is not valid UTF-8');
  }
}

/** Leaving a loop over the request would end its socket, and the answer with it. */
function collect(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    const take = (part: Buffer): void => {
      bytes += part.length;
      parts.push(part);
      if (bytes <= LIMITS.frameBytes) return;
      request.off('data', take).pause();
      reject(tooLarge(bytes));
    };
    request.on('data', take);
    request.once('end', () => resolve(Buffer.concat(parts)));
    request.once('close', () => reject(protocolError('the body was cut off')));
  });
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
