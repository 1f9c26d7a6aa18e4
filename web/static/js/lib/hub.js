// One stream of changes for all tabs of a browser, which together have only six connections to a server.
import { ApiError } from './api.js'
import { delayOf, pause } from './retry.js'

/** @typedef {{jobs: string[], executions: string[], apps: string[], cluster: boolean, all: boolean}} Change */
/** @typedef {{state: 'connecting' | 'open' | 'lost', since: number}} Connection */

/**
 * @typedef {object} Wish a message of a tab to the hub
 * @property {string} [join] the tab wants to receive changes, on behalf of the user who is logged in there
 * @property {boolean} [leave] the tab wants no more changes
 * @property {boolean} [retry] the hub is to open a lost stream now
 *
 * @typedef {object} News a message of the hub to its tabs; without any of these properties it is a heartbeat
 * @property {Connection} [connection]
 * @property {Change} [changed]
 * @property {any} [summary]
 * @property {true} [refused] the server refused the stream, because the user is not logged in
 * @property {true} [session] another tab joined on behalf of another user than that of the stream
 */

/** @typedef {Pick<MessagePort, 'postMessage' | 'onmessage'>} Port */

/** @type {Change} */
const everything = { jobs: [], executions: [], apps: [], cluster: true, all: true }

/**
 * lingering is how long the stream stays open without members, in milliseconds, because users often switch between tabs.
 */
const lingering = 30_000

/**
 * Hub keeps one stream open while it has members, which are the visible tabs. It tells a tab that joins, and all tabs
 * after a reconnect, that everything may have changed, so that no event has to be repeated.
 */
export class Hub {
  /**
   * @param {(signal: AbortSignal) => AsyncIterable<import('./events.js').Event>} listen opens the stream
   * @param {(ms: number, signal: AbortSignal) => Promise<unknown>} [wait]
   */
  constructor(listen, wait = pause) {
    this.listen = listen
    this.wait = wait
    /** @type {Set<Port>} */
    this.members = new Set()
    /** The user for whom the stream was opened, which contains only what this user may see. */
    this.person = ''
    /** @type {any} the newest summary; null before the first */
    this.summary = null
    /** @type {Connection} */
    this.connection = { state: 'connecting', since: Date.now() }
    /** @type {AbortController | null} ends the stream and its retries */
    this.stream = null
    /** Cancels linger when it is aborted. */
    this.empty = new AbortController()
  }

  /** add receives the messages of a tab. @param {Port} port */
  add(port) {
    port.onmessage = ({ data }) => this.hear(port, data)
  }

  /** @param {Port} port @param {Wish} wish */
  hear(port, { join, leave, retry }) {
    if (join !== undefined) this.join(port, join)
    if (leave && this.members.delete(port) && this.members.size === 0) void this.linger()
    if (retry && this.connection.state !== 'open') this.open()
  }

  /** @param {Port} port @param {string} person */
  join(port, person) {
    this.empty.abort()
    this.members.add(port)
    if (this.person && person !== this.person) {
      // This tab or the others have not noticed the latest login. All of them ask the server.
      this.tell({ session: true })
      this.close()
    }
    this.person = person
    if (!this.stream || this.connection.state === 'lost') this.open()
    port.postMessage({ connection: this.connection })
    if (this.connection.state === 'open') port.postMessage({ summary: this.summary, changed: everything })
  }

  /** linger closes the stream after lingering, unless a tab joins before. */
  async linger() {
    this.empty = new AbortController()
    await this.wait(lingering, this.empty.signal).then(() => this.close(), () => {})
  }

  close() {
    this.stream?.abort()
    this.stream = null
    this.summary = null
    this.become('connecting')
  }

  open() {
    this.stream?.abort()
    this.stream = new AbortController()
    void this.run(this.stream.signal)
  }

  /** @param {AbortSignal} signal */
  async run(signal) {
    for (let tries = 0; ; ) {
      /** @type {unknown} */
      let error
      try {
        for await (const { event, data } of this.listen(signal)) {
          if (signal.aborted) return
          if (event === 'hello') {
            tries = 0
            this.become('open')
            this.tell({ changed: everything })
          } else if (event === 'changed') {
            this.tell({ changed: data })
          } else if (event === 'summary') {
            this.summary = data
            this.tell({ summary: data })
          } else {
            this.tell({}) // the heartbeat
          }
        }
      } catch (e) {
        error = e
      }
      if (signal.aborted) return
      if (this.members.size === 0) return this.close()
      if (error instanceof ApiError && error.status === 401) this.tell({ refused: true })
      if (this.connection.state !== 'connecting' || tries > 0) this.become('lost')
      // A stream that ended with its leader's term can soon be opened at the next leader.
      await this.wait(delayOf(++tries, error), signal).catch(() => {})
      if (signal.aborted) return
    }
  }

  /** @param {Connection['state']} state */
  become(state) {
    if (this.connection.state !== state) this.connection = { state, since: Date.now() }
    this.tell({ connection: this.connection })
  }

  /** @param {News} news */
  tell(news) {
    for (const port of this.members) port.postMessage(news)
  }
}
