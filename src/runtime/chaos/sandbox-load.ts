import type { Scenario } from '../../config/scenario.ts';
import type { Call } from '../../model/call.ts';
import type { DemoCall } from '../demo/calls.ts';

/** One call of a run: of an upstream that is hurt, or of its control. */
export interface DrillCall extends DemoCall {
  readonly isInside: boolean;
}

/** The upstream that has all that another one has, but for the faults. */
export function controlOf(upstream: string): string {
  return `${upstream}-control`;
}

/** The calls of a run, in pairs: each with its control, at the same moment. */
export function drillCalls({ load, blastRadius }: Scenario): readonly (readonly [DrillCall, DrillCall])[] {
  const { upstreams } = blastRadius;
  return Array.from({ length: load.calls }, (_, index) => {
    const upstream = upstreams[index % upstreams.length] ?? 'feishu';
    const key = index % load.keys;
    const n = Math.floor(index / load.keys);
    return [callOf(upstream, true, index, key, n), callOf(upstream, false, index, key, n)] as const;
  });
}

function callOf(upstream: string, isInside: boolean, index: number, key: number, n: number): DrillCall {
  const side = isInside ? 'in' : 'control';
  const chat = `oc_${side}_${upstream}_${key}`;
  const id = `${side}-${index}`;
  const writes = upstream === 'feishu';
  const call: Call = writes
    ? {
        path: '/open-apis/im/v1/messages',
        query: { receive_id_type: 'chat_id' },
        body: { receive_id: chat, msg_type: 'text', content: JSON.stringify({ text: `n=${n} key=${chat}` }) },
      }
    : { method: 'GET', path: `/items/${key}` };
  const value = Buffer.from(JSON.stringify({ id, upstream: isInside ? upstream : controlOf(upstream), ...call }));
  return { id, chat, n, writes, isInside, record: { topic: 'calls', key: Buffer.from(chat), value, headers: [] } };
}
