import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';

/** A span as it came over the wire, its attributes by name. */
export interface CollectedSpan {
  readonly name: string;
  /** 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly failed: boolean;
  readonly service: Readonly<Record<string, string | number>>;
}

/** A collector of OpenTelemetry over real HTTP: takes OTLP as JSON and remembers it. */
export interface OtlpCollector {
  readonly url: string;
  readonly spans: CollectedSpan[];
  /** All that came, as it came. */
  readonly text: () => string;
  readonly requests: { readonly path: string; readonly headers: IncomingHttpHeaders }[];
  /** What it answers: a status, or `hang` for nothing. */
  answer: number | 'hang';
  close(): Promise<void>;
}

interface WireAttribute {
  readonly key: string;
  readonly value: Readonly<Partial<Record<'stringValue' | 'intValue' | 'doubleValue', string | number>>>;
}
interface WireSpan extends Pick<CollectedSpan, 'name' | 'kind' | 'traceId' | 'spanId'> {
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: readonly WireAttribute[];
  readonly links?: CollectedSpan['links'];
  readonly status?: { readonly code?: number };
}
interface Wire {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly WireAttribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly WireSpan[] }[];
  }[];
}

/** Starts one. Who starts it closes it. */
export async function openCollector(): Promise<OtlpCollector> {
  const texts: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { answer } = collector;
      collector.requests.push({ path: request.url ?? '', headers: request.headers });
      if (answer === 'hang') return;
      if (answer === 200) {
        const bytes = Buffer.concat(chunks);
        const text = String(request.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes);
        texts.push(text);
        collector.spans.push(...spansIn(JSON.parse(text) as Wire));
      }
      response.writeHead(answer, { 'content-type': 'application/json' });
      response.end('{}');
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  const collector: OtlpCollector = {
    url: `http://127.0.0.1:${port}`,
    spans: [],
    requests: [],
    text: () => texts.join('\n'),
    answer: 200,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
  return collector;
}

function spansIn({ resourceSpans }: Wire): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans
      .flatMap(({ spans }) => spans)
      .map(({ name, kind, traceId, spanId, parentSpanId, startTimeUnixNano, endTimeUnixNano, ...span }) => ({
        ...{ name, kind, traceId, spanId, parentSpanId },
        startNs: BigInt(startTimeUnixNano),
        endNs: BigInt(endTimeUnixNano),
        attributes: byName(span.attributes ?? []),
        links: (span.links ?? []).map((link) => ({ traceId: link.traceId, spanId: link.spanId })),
        failed: span.status?.code === 2,
        service: byName(resource.attributes),
      })),
  );
}

function byName(attributes: readonly WireAttribute[]): Record<string, string | number> {
  return Object.fromEntries(
    attributes.map(({ key, value: { stringValue, intValue, doubleValue } }) => [
      key,
      stringValue ?? Number(intValue ?? doubleValue),
    ]),
  );
}
