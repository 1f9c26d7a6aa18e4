// Numbers of the scheduler in help texts. The console has them nowhere else, and test/documents compares them with the
// scheduler's code.
export const limits = {
  /** The longest name of an app or a job, in characters. */
  name: 100,
  shards: 10_000,
  retries: 100,
  /** How many missed fires of a job with misfire are queued. */
  queuedFires: 100,
  /** How late a new leader still fires a job without misfire, in milliseconds. */
  late: 60_000,
  /** The delay before a retry in milliseconds, unless the job sets it, and the limit to which it doubles. */
  backoff: 200,
  backoffMost: 60_000,
  /** How often a cached package is compared with its address, in milliseconds. */
  packageCheck: 30_000,
  /** The minimum length of a password, in characters. */
  password: 8,
}
