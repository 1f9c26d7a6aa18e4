// Numbers of the scheduler that help texts say. They stand nowhere else in the console; test/documents compares them
// with the code.
export const limits = {
  /** The longest name of an app or a job, in characters. */
  name: 100,
  shards: 10_000,
  retries: 100,
  /** How many fires of a job wait with misfire. */
  queuedFires: 100,
  /** How late a new leader makes fires without misfire, in milliseconds. */
  late: 60_000,
  /** How long a retry waits, in milliseconds, unless the job says it, and how far that doubles. */
  backoff: 200,
  backoffMost: 60_000,
  /** How often the address of a package that is kept is asked for new bytes, in milliseconds. */
  packageCheck: 30_000,
  /** The least length of a password, in characters. */
  password: 8,
}
