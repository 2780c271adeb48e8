import { type Answer, failure, ok } from '../http/answer.ts';
import type { ApiCall, Endpoint, Job } from '../http/job.ts';
import { readMultipart } from '../http/multipart.ts';
import { markerOf } from '../ledger/marker.ts';
import type { World } from '../world.ts';

const fileKinds = new Set(['opus', 'mp4', 'pdf', 'doc', 'xls', 'ppt', 'stream']);
const longestFileBytes = 30 * 1024 * 1024;

/** im/v1 files: upload. The platform offers no key for it: sent twice, it is stored twice. */
export function fileEndpoints(world: World): Endpoint[] {
  return [
    { api: 'im.file.create', method: 'POST', url: '/open-apis/im/v1/files', accept: (call) => upload(world, call) },
  ];
}

function upload(world: World, { headers, body }: ApiCall): Job | Answer {
  const type = headers['content-type'];
  const parts = Buffer.isBuffer(body) && typeof type === 'string' ? readMultipart(body, type) : undefined;
  const kind = parts?.get('file_type')?.bytes.toString() ?? '';
  const name = parts?.get('file_name')?.bytes.toString() ?? '';
  const file = parts?.get('file')?.bytes;
  if (!fileKinds.has(kind) || name === '' || file === undefined) {
    return failure(400, 234001, 'Invalid request param.');
  }
  if (file.length === 0) return failure(400, 234010, 'File size can not be 0.');
  if (file.length > longestFileBytes) return failure(400, 234006, 'The file size exceed the max value.');
  return {
    marker: markerOf(name, 'files'),
    answer: (seq) => ok({ file_key: `file_v3_${world.salt}${seq.toString(16).padStart(8, '0')}` }),
  };
}
