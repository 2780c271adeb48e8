import { isoTime } from '../../model/time.ts';
import { type HostReading, hostSickness } from '../../operators/health/health-score.ts';
import type { Destination } from '../destination.ts';
import type { House } from '../house.ts';

import type { UpstreamHealth } from './health-watch.ts';

/** One measured thing. */
export interface StabilityNode {
  /** `upstream/news`, `bucket/news/NAME`, `lanes/news`, `partition/calls/3`, `topic/calls`, `host`. */
  readonly id: string;
  readonly kind: 'upstream' | 'bucket' | 'lanes' | 'partition' | 'topic' | 'host';
  /** 0: well, 1: as bad as it gets. */
  readonly sick: number;
  /** What was measured, with units. */
  readonly says: Readonly<Record<string, number>>;
}

/** What is connected with one sick measurement in the same minute. */
export interface StabilityGraph {
  readonly at: string;
  /** The node that was asked for, or the sickest upstream; `undefined` where there is none. */
  readonly from: string | undefined;
  readonly nodes: readonly StabilityNode[];
  readonly edges: readonly { readonly from: string; readonly to: string }[];
}

/** What the graph is made of. */
export interface GraphParts {
  readonly house: Pick<House, 'destinations' | 'lanes' | 'partitions' | 'rings' | 'clock'>;
  readonly health: readonly UpstreamHealth[];
  readonly host: HostReading;
}

// What is read by a person and drawn on a page.
const mostBuckets = 10;
const mostPartitions = 24;
const longWaitMs = 600_000;

/**
 * From an upstream over its quota buckets, the lanes of its calls and their partitions to their topics and the machine: what
 * may have made it sick, and what it makes sick. @param from id of a node; default: the sickest upstream
 */
export function stabilityGraph(parts: GraphParts, from?: string): StabilityGraph {
  const graph = new GraphBuilder();
  for (const one of parts.health) upstream(graph, one, parts);
  const sickest = [...graph.nodes.values()]
    .filter(({ kind }) => kind === 'upstream')
    .reduce<StabilityNode | undefined>((worst, one) => (one.sick > (worst?.sick ?? 0) ? one : worst), undefined);
  const start = from ?? sickest?.id;
  const at = isoTime(parts.house.clock.wall());
  if (start === undefined) return { at, from: undefined, nodes: [...graph.nodes.values()], edges: graph.edges };
  const connected = new Set([...graph.reached(start, 'from', 'to'), ...graph.reached(start, 'to', 'from')]);
  return {
    at,
    from: start,
    nodes: [...graph.nodes.values()].filter(({ id }) => connected.has(id)),
    edges: graph.edges.filter((edge) => connected.has(edge.from) && connected.has(edge.to)),
  };
}

class GraphBuilder {
  readonly nodes = new Map<string, StabilityNode>();
  readonly edges: { readonly from: string; readonly to: string }[] = [];

  add(node: StabilityNode, ...before: readonly string[]): string {
    if (!this.nodes.has(node.id)) this.nodes.set(node.id, node);
    for (const from of before) {
      if (!this.edges.some((edge) => edge.from === from && edge.to === node.id)) this.edges.push({ from, to: node.id });
    }
    return node.id;
  }

  /** All nodes on ways from `start`, along the edges or against them. */
  reached(start: string, tail: 'from' | 'to', head: 'from' | 'to'): ReadonlySet<string> {
    const reached = new Set(this.nodes.has(start) ? [start] : []);
    for (const id of reached) for (const edge of this.edges) if (edge[tail] === id) reached.add(edge[head]);
    return reached;
  }
}

function upstream(
  graph: GraphBuilder,
  { upstream: name, score, reading, parts }: UpstreamHealth,
  all: GraphParts,
): void {
  const { house } = all;
  const destination = house.destinations.get(name);
  if (destination === undefined) return;
  const costs = Object.fromEntries(parts.filter(({ lost }) => lost > 0).map(({ part, value }) => [part, value]));
  const { attempts } = reading;
  const top = graph.add({
    ...{ id: `upstream/${name}`, kind: 'upstream', sick: 1 - score / 100 },
    says: { score, attempts, inFlight: inFlightOf(destination), ...costs },
  });
  const nowMs = house.clock.now();
  const uses = [...destination.limiter.uses(nowMs)].sort((a, b) => b.used - a.used).slice(0, mostBuckets);
  const buckets = uses.map(({ label, used, factor }) =>
    graph.add(
      { id: `bucket/${name}/${label}`, kind: 'bucket', sick: Math.min(1, used ** 4), says: { used, factor } },
      top,
    ),
  );
  const waiting = [...house.lanes.entries()].filter(
    ({ item }) => item.kind === 'call' && item.destination.name === name,
  );
  if (waiting.length === 0) return;
  const oldestMs = nowMs - Math.min(...waiting.map(({ item }) => item.received.readAtMs));
  const lanes = graph.add(
    {
      ...{ id: `lanes/${name}`, kind: 'lanes', sick: Math.min(1, oldestMs / longWaitMs) },
      says: { calls: waiting.length, oldestMs: Math.round(oldestMs) },
    },
    ...(buckets.length > 0 ? buckets : [top]),
  );
  const distances = new Map([...house.partitions.stats()].map(({ partition, distance }) => [partition, distance]));
  const rings = new Map([...house.rings.stats()].map((ring) => [ring.partition, ring]));
  const partitions = [...new Set(waiting.map(({ item }) => item.received.partition))].slice(0, mostPartitions);
  for (const partition of partitions) {
    const ring = rings.get(partition);
    const paused = ring?.paused === true ? 1 : 0;
    const place = graph.add(
      {
        ...{ id: `partition/${partition.topic}/${partition.partition}`, kind: 'partition', sick: paused },
        says: { unfinished: distances.get(partition) ?? 0, buffered: ring?.items ?? 0, paused },
      },
      lanes,
    );
    const topic = graph.add(topicNode(partition.topic, distances, rings), place);
    graph.add({ id: 'host', kind: 'host', sick: hostSickness(all.host), says: known(all.host) }, topic);
  }
}

/** Attempts at an upstream, those of its groups of APIs among them. */
function inFlightOf({ slots, groups }: Destination): number {
  return [...groups.values()].reduce((sum, group) => sum + group.slots.inUse, slots.inUse);
}

type Place = { readonly topic: string };

function topicNode(
  topic: string,
  distances: ReadonlyMap<Place, number>,
  rings: ReadonlyMap<Place, { readonly paused: boolean }>,
): StabilityNode {
  const own = [...distances].filter(([partition]) => partition.topic === topic);
  const unfinished = own.reduce((sum, [, distance]) => sum + distance, 0);
  const paused = [...rings].filter(([partition, ring]) => partition.topic === topic && ring.paused).length;
  const sick = own.length === 0 ? 0 : Math.min(1, paused / own.length);
  return { id: `topic/${topic}`, kind: 'topic', sick, says: { partitions: own.length, paused, unfinished } };
}

function known(host: HostReading): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(host).flatMap(([name, share]) => (share === undefined ? [] : [[name, share] as const])),
  );
}
