// The part of a task's output that a page shows. It is loaded at the end or around an offset, grows at both ends as the user
// scrolls, and follows the output.
import { follow, page, readPart } from './follow.js'
import { Output } from './output.js'
import { delayOf, mayPass } from './retry.js'

/** Reader loads and follows one stream. It calls `changed` after each change, at most once per frame. */
export class Reader {
  /**
   * @param {string} task
   * @param {string} stream
   * @param {() => void} changed
   * @param {{most?: number}} [bounds]
   */
  constructor(task, stream, changed, { most } = {}) {
    this.task = task
    this.stream = stream
    this.changed = changed
    this.output = new Output({ most })
    /** @type {'loading' | 'ready' | 'failed'} */
    this.state = 'loading'
    /** @type {import('./follow.js').FollowState | 'off'} */
    this.following = 'off'
    /** @type {Error | null} */
    this.error = null
    this.size = 0
    /** Whether the end is visible. Lines beyond the limits are then dropped at the beginning. */
    this.stick = true
    /** How many lines have arrived since the end was last visible. */
    this.fresh = 0
    /** How many bytes at the beginning of the output no longer exist. */
    this.dropped = 0
    this.restarted = false
    this.abort = new AbortController()
    this.busy = false
    /** When loading last failed, in milliseconds. */
    this.failed = 0
    /** How often start has failed since it last succeeded. */
    this.tries = 0
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined
    /** @type {(() => void) | null} */
    this.unfollow = null
    /** @type {Uint8Array[]} */
    this.pending = []
    this.frame = 0
  }

  /** start loads the output around an offset, or its end if at is null. @param {number | null} at */
  async start(at) {
    clearTimeout(this.timer)
    this.detach()
    this.abort.abort() // pending answers belong to another place
    this.abort = new AbortController()
    this.state = 'loading'
    this.stick = at === null
    this.fresh = 0
    const error = await this.guarded(async (signal) => {
      const offset = at === null ? 0 : Math.max(0, at - page / 2)
      const part = await readPart(this.task, at === null ? { stream: this.stream, tail: page } : { stream: this.stream, offset, limit: page }, signal)
      this.output.begin(part.from)
      // The beginning of the first line may be missing, so that line is loaded only when the user scrolls up.
      const skip = at === null || offset === 0 ? 0 : Math.max(0, Math.min(part.bytes.indexOf(10) + 1, at - offset))
      this.output.begin(part.from + skip)
      this.output.append(part.bytes.subarray(skip))
      this.size = part.size === Infinity ? this.output.to : part.size
      this.dropped = part.dropped
      this.state = 'ready'
      this.tries = 0
    })
    if (error && mayPass(error)) this.timer = setTimeout(() => this.start(at), delayOf(++this.tries, error))
    this.attach()
  }

  /** older loads the output before the loaded part. */
  async older() {
    if (this.busy || this.state !== 'ready' || this.atBegin() || Date.now() < this.failed + 5000) return
    await this.guarded(async (signal) => {
      const offset = Math.max(0, this.output.from - page)
      const part = await readPart(this.task, { stream: this.stream, offset, limit: this.output.from - offset }, signal)
      this.dropped = part.dropped
      if (part.size < this.output.from) return this.restart(0)
      this.output.prepend(part.bytes)
      if (this.output.bound('end')) this.detach()
    })
  }

  /** newer loads the output after the loaded part, unless the reader follows it already. */
  async newer() {
    if (this.busy || this.state !== 'ready' || this.unfollow || this.following !== 'off' || Date.now() < this.failed + 5000) return
    await this.guarded(async (signal) => {
      const part = await readPart(this.task, { stream: this.stream, offset: this.output.to, limit: page }, signal)
      if (part.size < this.output.to) return this.restart(0)
      if (part.from > this.output.to) this.restart(part.from)
      this.size = part.size
      this.output.append(part.bytes)
      this.output.bound('begin')
    })
    this.attach()
  }

  /** look records whether the end is visible. @param {boolean} stick */
  look(stick) {
    if (stick) this.fresh = 0
    if (this.stick === stick) return
    this.stick = stick
    this.tell()
  }

  /** toEnd shows the end, and loads it if needed. */
  toEnd() {
    if (this.following === 'off') void this.start(null)
    else this.look(true)
  }

  /** stop ends all requests. The reader cannot be used again. */
  stop() {
    this.detach()
    clearTimeout(this.timer)
    this.abort.abort()
    cancelAnimationFrame(this.frame)
    this.changed = () => {}
  }

  /** attach follows the output if its end is loaded. */
  attach() {
    if (this.state !== 'ready' || this.unfollow || this.output.to < this.size || this.abort.signal.aborted) return
    this.following = 'open'
    this.unfollow = follow(this.task, this.stream, {
      at: () => this.output.to + this.pending.reduce((sum, p) => sum + p.length, 0),
      take: (bytes) => {
        this.pending.push(bytes)
        this.tell()
      },
      restart: (at) => this.restart(at),
      become: (state, error) => {
        this.following = state
        this.error = error
        this.tell()
      },
    })
    this.tell()
  }

  detach() {
    this.unfollow?.()
    this.unfollow = null
    this.following = 'off'
    this.pending = []
  }

  /** atBegin reports whether no older output exists. */
  atBegin() {
    return this.output.from <= this.dropped
  }

  /** restart removes all lines and continues at an offset, because the file was emptied or output was dropped. @param {number} at */
  restart(at) {
    this.pending = []
    this.output.begin(at)
    this.size = at
    this.dropped = at
    this.restarted = true
    this.tell()
  }

  /** flush appends the bytes that have arrived to the output. It is called once per frame. */
  flush() {
    const { output } = this
    if (this.pending.length) {
      const before = output.lines
      const now = Date.now()
      for (const bytes of this.pending) output.append(bytes, now)
      this.pending = []
      this.size = Math.max(this.size, output.to)
      if (!this.stick) this.fresh += output.lines - before
      if (this.stick) output.bound('begin')
      else if (output.bound('end')) this.detach() // keeps the lines that the user is reading
    }
    this.changed()
  }

  /** tell calls flush in the next frame. */
  tell() {
    if (document.hidden) { // a hidden page has no frames
      this.flush()
    } else if (!this.frame) {
      this.frame = requestAnimationFrame(() => {
        this.frame = 0
        this.flush()
      })
    }
  }

  /**
   * guarded does work that may fail. It records and returns the error; null if the work succeeded or was aborted.
   * @param {(signal: AbortSignal) => Promise<void>} work
   * @returns {Promise<Error | null>}
   */
  async guarded(work) {
    const { signal } = this.abort
    this.busy = true
    try {
      await work(signal)
      this.error = null
    } catch (e) {
      if (signal.aborted) return null
      this.error = /** @type {Error} */ (e)
      this.failed = Date.now()
      if (this.state === 'loading') this.state = 'failed'
    } finally {
      if (signal === this.abort.signal) this.busy = false
      this.tell()
    }
    return this.error
  }
}
