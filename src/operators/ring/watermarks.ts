/** When a partition pauses and resumes. */
export interface WatermarkOptions {
  /** Pause at so many items; an integer >= 1. */
  readonly highItems: number;
  /** Resume at so many or fewer; an integer in [0, highItems). */
  readonly lowItems: number;
  /** Pause at so many bytes; > 0. */
  readonly highBytes: number;
  /** Resume at so many or fewer; in [0, highBytes). */
  readonly lowBytes: number;
}

/** 512 items or 8 MiB; 128 items and 2 MiB. */
export const watermarkDefaults: WatermarkOptions = {
  highItems: 512,
  lowItems: 128,
  highBytes: 8 * 1024 * 1024,
  lowBytes: 2 * 1024 * 1024,
};

/**
 * Hysteresis over items and bytes: paused from the moment one of the two reaches its high mark until both are at or
 * below their low marks. The gap between the marks keeps the source from flickering.
 */
export class Watermarks {
  readonly #options: WatermarkOptions;
  #items = 0;
  #bytes = 0;
  #paused = false;

  /** @throws RangeError naming the field that is out of range */
  constructor(options: Partial<WatermarkOptions> = {}) {
    this.#options = { ...watermarkDefaults, ...options };
    const { highItems, lowItems, highBytes, lowBytes } = this.#options;
    if (!(Number.isInteger(highItems) && highItems >= 1)) {
      throw new RangeError(`watermarks.highItems must be an integer >= 1, got ${highItems}`);
    }
    if (!(Number.isInteger(lowItems) && lowItems >= 0 && lowItems < highItems)) {
      throw new RangeError(`watermarks.lowItems must be an integer in [0, ${highItems}), got ${lowItems}`);
    }
    if (!(highBytes > 0)) throw new RangeError(`watermarks.highBytes must be > 0, got ${highBytes}`);
    if (!(lowBytes >= 0 && lowBytes < highBytes)) {
      throw new RangeError(`watermarks.lowBytes must be in [0, ${highBytes}), got ${lowBytes}`);
    }
  }

  get items(): number {
    return this.#items;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get paused(): boolean {
    return this.#paused;
  }

  /** One item of so many bytes came. */
  add(bytes: number): void {
    this.#items += 1;
    this.#bytes += bytes;
    if (this.#items >= this.#options.highItems || this.#bytes >= this.#options.highBytes) this.#paused = true;
  }

  /** One item of so many bytes, the same number as when it came, went. */
  remove(bytes: number): void {
    this.#items -= 1;
    this.#bytes -= bytes;
    if (this.#items <= this.#options.lowItems && this.#bytes <= this.#options.lowBytes) this.#paused = false;
  }
}
