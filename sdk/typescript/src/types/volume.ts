/** The state of volumes. */

/** A volume. */
export interface VolumeInfo {
  /** The name. */
  readonly name: string;
  /** Seconds since the epoch of its creation. */
  readonly createdS: number;
  /** Size in bytes. */
  readonly sizeBytes: number;
  /** Space on the host in bytes. */
  readonly allocatedBytes: number;
  /** Labels. */
  readonly labels: Readonly<Record<string, string>>;
  /** Names of the sandboxes, running or not, that mount it. */
  readonly sandboxes: readonly string[];
  /** The directory of its files. */
  readonly directory: string;
}
