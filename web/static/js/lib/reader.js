// What a page shows of a task's output: loaded at the end or around a place, longer at both ends as one scrolls, and followed.
import { follow, page, readPart } from './follow.js'
import { Output } from './output.js'
import { delayOf, mayPass } from './retry.js'

/** Reader loads and follows one stream; `changed` is called after each change, at most once a frame. */
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
    /** Whether its end is looked at: then what is too much is dropped at the begin. */
    this.stick = true
    /** How many lines came since its end was looked at last. */
    this.fresh = 0
    /** How many bytes at the begin are gone. */
    this.dropped = 0
    this.restarted = false
    this.abort = new AbortController()
    this.busy = false
    /** When it last failed to load more, in milliseconds. */
    this.failed = 0
    /** How often in a row it failed to start. */
    this.tries = 0
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined
    /** @type {(() => void) | null} */
    this.unfollow = null
    /** @type {Uint8Array[]} */
    this.pending = []
    this.frame = 0
  }

  /** start loads what is around an offset, or the end. @param {number | null} at */
  async start(at) {
    clearTimeout(this.timer)
    this.detach()
    this.abort.abort() // what is on its way belongs to another place
    this.abort = new AbortController()
    this.state = 'loading'
    this.stick = at === null
    this.fresh = 0
    const error = await this.guarded(async (signal) => {
      const offset = at === null ? 0 : Math.max(0, at - page / 2)
      const part = await readPart(this.task, at === null ? { stream: this.stream, tail: page } : { stream: this.stream, offset, limit: page }, signal)
      this.output.begin(part.from)
      // What is before the first begin of a line is left to who scrolls up.
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

  /** older loads what is before. */
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

  /** newer loads what is behind, where that does not come by itself. */
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

  /** look says whether its end is looked at. @param {boolean} stick */
  look(stick) {
    if (stick) this.fresh = 0
    if (this.stick === stick) return
    this.stick = stick
    this.tell()
  }

  /** toEnd shows its end, loading it where it isn't there. */
  toEnd() {
    if (this.following === 'off') void this.start(null)
    else this.look(true)
  }

  /** stop ends all of it. */
  stop() {
    this.detach()
    clearTimeout(this.timer)
    this.abort.abort()
    cancelAnimationFrame(this.frame)
    this.changed = () => {}
  }

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

  /** atBegin says whether there is nothing older. */
  atBegin() {
    return this.output.from <= this.dropped
  }

  /** restart begins again at an offset, where the file was emptied or what comes next was dropped. @param {number} at */
  restart(at) {
    this.pending = []
    this.output.begin(at)
    this.size = at
    this.dropped = at
    this.restarted = true
    this.tell()
  }

  /** flush puts what came into the output; it is called once a frame. */
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
      else if (output.bound('end')) this.detach() // who reads above keeps what he reads
    }
    this.changed()
  }

  tell() {
    if (document.hidden) { // no frames are drawn then
      this.flush()
    } else if (!this.frame) {
      this.frame = requestAnimationFrame(() => {
        this.frame = 0
        this.flush()
      })
    }
  }

  /**
   * guarded does work that may fail, and gives why it did, unless that was aborted.
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
