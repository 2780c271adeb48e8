import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { type ConfigInput, type Loaded, loadConfig } from '../../src/config/load.ts';
import { mistakesOf } from '../../src/config/mistake.ts';
import type { Overlay } from '../../src/config/overlay.ts';

/** A folder for configuration files, and what loading them gives. */
export class ConfigFiles {
  readonly #folder = mkdtempSync(join(tmpdir(), 'larkspur-config-'));

  write(text: string, name = 'larkspur.yaml'): string {
    const file = join(this.#folder, name);
    writeFileSync(file, text);
    return file;
  }

  /** Loads a text with an empty environment unless one is given. */
  load(yaml: string, input: Omit<ConfigInput, 'file'> = {}): Loaded {
    return loadConfig({ file: this.write(yaml), env: {}, ...input });
  }

  /** Loads a file with an empty environment. */
  loadFile(file: string, overlays: readonly Overlay[] = []): Loaded {
    return loadConfig({ file, env: {}, overlays });
  }

  /** The mistakes of a text; the name of its file stands as FILE. Whatever else went wrong is thrown. */
  mistakes(yaml: string, env: Readonly<Record<string, string>> = {}): string[] {
    try {
      this.load(yaml, { env });
    } catch (error) {
      const lines = mistakesOf(error);
      if (lines.length === 0) throw error;
      return lines.map((line) => line.replaceAll(join(this.#folder, 'larkspur.yaml'), 'FILE'));
    }
    return [];
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true });
  }
}
