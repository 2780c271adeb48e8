import { readFileSync } from 'node:fs';

import { Agent, request } from 'undici';

import { type ErrorCode, LarkspurError, messageOf } from '../../model/errors.ts';

/** A Deployment, and how its cluster is reached; by default as a pod reaches its own. */
export interface DeploymentAddress {
  readonly namespace: string;
  readonly name: string;
  readonly api?: string | undefined;
  /** Read at each question: the kubelet replaces it. */
  readonly tokenFile?: string | undefined;
  readonly caFile?: string | undefined;
}

const inPod = '/var/run/secrets/kubernetes.io/serviceaccount';
const inCluster = 'https://kubernetes.default.svc';
const timeoutMs = 10_000;

/** How many replicas a Deployment is to have. */
export class DeploymentScale {
  readonly #address: DeploymentAddress;

  constructor(address: DeploymentAddress) {
    this.#address = address;
  }

  /** Rejects with `upstream_unavailable`, or where the cluster says no with `forbidden`, `not_found`, `bad_request`. */
  async replicas(): Promise<number> {
    const scale = await this.#ask('GET');
    return scale.spec?.replicas ?? 0;
  }

  /** Rejects like {@link replicas}. */
  async set(replicas: number): Promise<void> {
    await this.#ask('PATCH', JSON.stringify({ spec: { replicas } }));
  }

  async #ask(method: 'GET' | 'PATCH', body?: string): Promise<{ readonly spec?: { readonly replicas?: number } }> {
    const { namespace, name, api = inCluster, tokenFile, caFile } = this.#address;
    const own = api === inCluster;
    const token = textOf(tokenFile ?? (own ? `${inPod}/token` : undefined));
    const ca = textOf(caFile ?? (own ? `${inPod}/ca.crt` : undefined));
    const url = `${api.replace(/\/+$/, '')}/apis/apps/v1/namespaces/${namespace}/deployments/${name}/scale`;
    const dispatcher = new Agent(ca === undefined ? {} : { connect: { ca } });
    try {
      const reply = await request(url, {
        method,
        dispatcher,
        headers: {
          accept: 'application/json',
          ...(token === undefined ? {} : { authorization: `Bearer ${token.trim()}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/merge-patch+json' }),
        },
        ...(body === undefined ? {} : { body }),
        signal: AbortSignal.timeout(timeoutMs),
      });
      const text = await reply.body.text();
      if (reply.statusCode < 300) return JSON.parse(text) as { readonly spec?: { readonly replicas?: number } };
      const code = codeOf(reply.statusCode);
      throw new LarkspurError(code, `Kubernetes answered HTTP ${reply.statusCode} for ${namespace}/${name}`, {
        cure: 'the service account needs get and patch on deployments/scale in that namespace',
      });
    } catch (error) {
      if (error instanceof LarkspurError) throw error;
      throw new LarkspurError('upstream_unavailable', `Kubernetes did not answer: ${messageOf(error)}`, {
        cause: error,
      });
    } finally {
      await dispatcher.close();
    }
  }
}

function codeOf(status: number): ErrorCode {
  if (status === 404) return 'not_found';
  if (status === 401 || status === 403) return 'forbidden';
  return status < 500 ? 'bad_request' : 'upstream_unavailable';
}

function textOf(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new LarkspurError('forbidden', `${file} cannot be read: ${messageOf(error)}`, {
      cure: 'name tokenFile and caFile, or mount the token of a service account',
      cause: error,
    });
  }
}
