import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';

import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

import { loadConfig } from '../../../src/config/load.ts';

import { composeServices, rootFile, type Service, wordsOf } from './compose-file.ts';

const root = new URL('../../../', import.meta.url);
const services = composeServices();
const ours = Object.entries(services).filter(([, { image }]) => image === 'larkspur:local');
const dockerfile = rootFile('deploy/Dockerfile');
const configFile = 'deploy/config/larkspur.yaml';
const service = (name: string): Service => services[name] ?? expect.fail(`no service ${name}`);

const environmentOf = ({ environment = {} }: Service) =>
  Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, String(value)]));
const { config } = loadConfig({ file: new URL(configFile, root).pathname, env: environmentOf(service('worker')) });

describe('docker-compose.yml', () => {
  it('has the services of a whole installation', () => {
    const expected = ['grafana', 'ingress', 'kafka', 'prometheus', 'redis', 'sandbox', 'topics', 'worker'];
    const [always, asked] = [undefined, 'traces'].map((profile) =>
      Object.keys(services).filter((name) => service(name).profiles?.[0] === profile),
    );

    expect(always?.sort()).toEqual(expected);
    expect(asked).toEqual(['jaeger']);
  });

  it('pins every image it does not build', () => {
    const images = [
      ...Object.values(services).map(({ image }) => image),
      ...[...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image = '']) => image),
    ];

    expect(images.length).toBeGreaterThan(8);
    for (const image of images) expect(image).toMatch(/^[a-z/-]+:(?!latest)[\w.-]*\w$/);
  });

  it('publishes ports on this machine only', () => {
    const ports = Object.values(services).flatMap((each) => each.ports ?? []);

    expect(ports.length).toBeGreaterThan(4);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
  });

  it('lets workers be scaled: no port, no name, two of them to begin with', () => {
    const { ports, container_name: name, deploy } = service('worker');

    expect([ports, name, deploy?.replicas]).toEqual([undefined, undefined, 2]);
  });

  it('starts workers and ingress only on topics that exist and on a healthy Redis', () => {
    for (const name of ['worker', 'ingress']) {
      expect(service(name).depends_on).toEqual({
        topics: { condition: 'service_completed_successfully' },
        redis: { condition: 'service_healthy' },
      });
    }
    expect(service('topics').depends_on).toEqual({ kafka: { condition: 'service_healthy' } });
    for (const name of ['kafka', 'redis']) expect(service(name).healthcheck?.test).toBeDefined();
  });

  it('gives a worker longer to drain than the configuration asks for', () => {
    const [, seconds] = /^(\d+)s$/.exec(service('worker').stop_grace_period ?? '') ?? [];

    expect(Number(seconds) * 1_000).toBeGreaterThan(config.drainMs);
  });

  it('never lets Redis drop a claim, and never lets Kafka make a topic by itself', () => {
    expect(wordsOf(service('redis')).join(' ')).toMatch(/--maxmemory-policy noeviction/);
    expect(wordsOf(service('redis')).join(' ')).toMatch(/--appendonly yes/);
    expect(service('kafka').environment).toMatchObject({ KAFKA_AUTO_CREATE_TOPICS_ENABLE: 'false' });
  });

  it('mounts only what is there', () => {
    const mounts = Object.values(services)
      .flatMap(({ volumes = [] }) => volumes)
      .filter((volume) => volume.startsWith('.'))
      .map((volume) => volume.split(':')[0] ?? '');

    expect(mounts.length).toBeGreaterThan(3);
    expect(mounts.filter((path) => !existsSync(new URL(path, root)))).toEqual([]);
  });
});

describe('compose file and command line', () => {
  it.each(ours)('agree about the command and the options of %s', { timeout: 60_000 }, async (_, each) => {
    const words = wordsOf(each);
    const names = words.slice(
      0,
      words.findIndex((word) => word.startsWith('--')),
    );
    const args = ['--import', 'tsx', 'src/cli/main.ts', ...names, '--help'];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root });

    expect(stdout).toContain(`Usage: larkspur ${names.join(' ')}`);
    for (const option of words.filter((word) => word.startsWith('--')))
      expect(stdout).toMatch(new RegExp(`${option}\\b`));
  });

  it('agree about where the configuration is', () => {
    for (const [, each] of ours) {
      const words = wordsOf(each);
      if (!words.includes('--config')) continue;
      expect(words[words.indexOf('--config') + 1]).toBe('/etc/larkspur/larkspur.yaml');
      expect(each.volumes).toContain('./deploy/config:/etc/larkspur:ro');
    }
  });
});

describe('compose file and configuration', () => {
  it('agree about the variables: every one that the configuration names is set, and no other', () => {
    const named = [...rootFile(configFile).matchAll(/\$\{([A-Z_]+)/g)].map(([, name]) => name);

    for (const name of ['topics', 'worker', 'ingress']) {
      expect(Object.keys(environmentOf(service(name))).sort()).toEqual([...new Set(named)].sort());
    }
  });

  it('agree about Kafka and Redis', () => {
    const { environment = {}, ports = [] } = service('kafka');
    expect(config.kafka?.brokers).toEqual(['kafka:9092']);
    expect(environment['KAFKA_ADVERTISED_LISTENERS']).toBe('INTERNAL://kafka:9092,HOST://localhost:29092');
    expect(environment['KAFKA_LISTENERS']).toContain('INTERNAL://:9092');
    expect(ports).toEqual(['127.0.0.1:29092:29092']);
    expect(config.redis?.url).toBe('redis://redis:6379');
  });

  it('agree about the port of ingress', () => {
    expect(config.listen.ingress).toEqual({ host: '0.0.0.0', port: 8080 });
    expect(service('ingress').ports?.[0]).toMatch(new RegExp(`:${config.listen.ingress.port}$`));
  });

  it('agree about the sandbox: its address, its port, its health', () => {
    const words = wordsOf(service('sandbox'));
    const port = words[words.indexOf('--port') + 1];

    expect(config.upstreams['feishu']).toMatchObject({ baseUrl: `http://sandbox:${port}` });
    expect(service('sandbox').ports).toEqual([`127.0.0.1:${port}:${port}`]);
    expect(environmentOf(service('sandbox'))['HEALTH_URL']).toBe(`http://127.0.0.1:${port}/_sandbox/stats`);
  });
});

describe('Dockerfile', () => {
  it('exposes the ports of the configuration and asks the probe for its health', () => {
    expect(dockerfile).toContain(`EXPOSE ${config.listen.ingress.port} ${config.listen.admin.port}\n`);
    expect(dockerfile).toContain(`http://127.0.0.1:${config.listen.admin.port}/livez`);
  });

  it('runs the program that package.json names, as nobody special', () => {
    const { bin } = JSON.parse(rootFile('package.json')) as { readonly bin: { readonly larkspur: string } };
    const [, entry = ''] = /^ENTRYPOINT \["node", .*"([^"]+)"\]$/m.exec(dockerfile) ?? [];

    expect(`./${entry}`).toBe(bin.larkspur);
    expect(/^USER (.*)$/m.exec(dockerfile)?.[1]).toBe('node');
  });

  it('copies only what is there and what .dockerignore lets through', () => {
    const allowed = rootFile('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1));
    const sources = [...dockerfile.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, paths = '']) =>
      paths.split(' '),
    );

    expect(sources.length).toBeGreaterThan(4);
    for (const source of sources) expect(allowed).toContain(source);
    expect(sources.filter((source) => !existsSync(new URL(source, root)))).toEqual([]);
  });
});

describe('what is watched', () => {
  const prometheus = parse(rootFile('deploy/prometheus/prometheus.yml')) as {
    readonly scrape_configs: readonly {
      readonly authorization: { readonly credentials_file: string };
      readonly dns_sd_configs: readonly { readonly names: readonly string[]; readonly port: number }[];
    }[];
  };

  it('is every worker and ingress, on the admin port, with the token', () => {
    const targets = prometheus.scrape_configs.flatMap((job) => job.dns_sd_configs);

    expect(targets.flatMap(({ names }) => names)).toEqual(['worker', 'ingress']);
    for (const { names, port } of targets) {
      expect(port).toBe(config.listen.admin.port);
      for (const name of names) expect(services).toHaveProperty(name);
    }
    const command = wordsOf(service('prometheus')).join(' ');
    for (const job of prometheus.scrape_configs) expect(command).toContain(`> ${job.authorization.credentials_file};`);
    expect(environmentOf(service('prometheus'))['LARKSPUR_ADMIN_TOKEN']).toBe(config.adminToken);
  });

  it('is shown from the Prometheus of the compose file', () => {
    const file = 'deploy/grafana/provisioning/datasources/prometheus.yaml';
    const { datasources } = parse(rootFile(file)) as { readonly datasources: readonly object[] };

    // From a metric to its trace: exemplars are stored, and their ids lead to where traces are.
    const exemplarTraceIdDestinations = [{ name: 'trace_id', datasourceUid: 'jaeger' }];
    expect(datasources).toMatchObject([
      { uid: 'prometheus', url: 'http://prometheus:9090', jsonData: { exemplarTraceIdDestinations } },
      { uid: 'jaeger', url: 'http://jaeger:16686' },
    ]);
    expect(wordsOf(service('prometheus')).join(' ')).toContain('--enable-feature=exemplar-storage');
    expect(service('prometheus').ports).toEqual(['127.0.0.1:9090:9090']);
  });
});
