import type { IncomingHttpHeaders } from 'node:http';

import { Recent } from './recent.ts';

/** One request as it arrived, and what became of it. */
export interface LoggedRequest {
  readonly arrivedAtMs: number;
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly app: string | undefined;
  /** HTTP status sent; 0 while open, or when the socket was destroyed. */
  status: number;
  fault: string | undefined;
}

/** The latest requests and the number of all. Tokens are left out of what it shows. */
export class RequestLog {
  readonly #recent: Recent<LoggedRequest>;
  #arrivals = 0;
  readonly #byStatus = new Map<number, number>();

  constructor(keep: number) {
    this.#recent = new Recent(keep);
  }

  get arrivals(): number {
    return this.#arrivals;
  }

  /** Answers per HTTP status. */
  get byStatus(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#byStatus);
  }

  arrive(request: LoggedRequest): void {
    this.#arrivals++;
    this.#recent.add(request);
  }

  answered(request: LoggedRequest, status: number): void {
    request.status = status;
    this.#byStatus.set(status, (this.#byStatus.get(status) ?? 0) + 1);
  }

  last(count: number): LoggedRequest[] {
    return this.#recent.last(count).map((request) => {
      const headers = { ...request.headers };
      delete headers.authorization;
      delete headers.cookie;
      return { ...request, headers };
    });
  }

  clear(): void {
    this.#recent.clear();
    this.#byStatus.clear();
    this.#arrivals = 0;
  }
}
