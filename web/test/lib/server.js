// A server for one test: the real program with real jobs.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { until } from './until.js'

const program = process.env.ELASTICJOB_SCHEDULER ?? fileURLToPath(new URL('../../../bin/scheduler', import.meta.url))

/** people are the users of a server with users, by name. All have the same password. */
export const people = /** @type {const} */ ({
  admin: { role: 'admin' },
  operator: { role: 'operator' },
  viewer: { role: 'viewer' },
  mine: { role: 'operator', apps: ['mine-*'] },
})
export const password = 'a password for tests'

/** @typedef {keyof typeof people} Person */

export class Server {
  /** @type {import('node:child_process').ChildProcess | null} */
  #process = null
  #log = ''
  #token = ''
  #port = 0
  dir = ''
  url = ''

  /** @param {string[]} args */
  constructor(args = []) {
    this.args = args
  }

  /**
   * start starts the server, at the same port as before, and waits until it is ready.
   */
  async start() {
    this.dir ||= await mkdtemp(join(tmpdir(), 'elasticjob-console-'))
    const args = ['--local', '--data-dir', join(this.dir, 'data'), '--listen', `127.0.0.1:${this.#port}`,
      '--time-zone', 'UTC', '--local-cpus', '16', '--local-memory', '8192', ...this.args]
    const isRoot = process.getuid?.() === 0
    const child = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH, HOME: this.dir, ...(isRoot ? { ELASTICJOB_RUN_AS: 'root' } : {}) },
    })
    this.#process = child
    let said = ''
    child.stdout.on('data', (text) => (said += text))
    child.stderr.on('data', (text) => (this.#log += text))
    this.url = await until('the server listens', () => {
      assert.equal(child.exitCode, null, `the server ended at its start:\n${this.#log}`)
      return /listens on (http:\/\/127\.0\.0\.1:\d+) /.exec(said)?.[1]
    })
    this.#port = Number(new URL(this.url).port)
    await until('the server is ready', async () => (await fetch(`${this.url}/readyz`)).ok)
  }

  /** addPeople adds users to the server, which requires a login from then on. */
  async addPeople() {
    for (const [name, grant] of Object.entries(people)) {
      await this.api('POST', '/api/users', { name, password, ...grant })
      if (name === 'admin') this.#token = (await this.api('POST', '/api/login', { username: name, password })).accessToken
    }
  }

  /**
   * api sends a request as an admin, and returns the answer.
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   * @returns {Promise<any>}
   */
  async api(method, path, body) {
    /** @type {Record<string, string>} */
    const headers = { 'Content-Type': 'application/json' }
    if (this.#token) headers.accessToken = this.#token
    const answer = await fetch(this.url + path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) })
    const text = await answer.text()
    assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`)
    return JSON.parse(text)
  }

  /**
   * app publishes an app that consists of one script.
   * @param {string} name
   * @param {string} script
   * @param {object} [fields]
   */
  async app(name, script, fields) {
    const file = join(this.dir, `${name}.sh`)
    await writeFile(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    return this.api('POST', '/api/app', { appName: name, appURL: `file://${file}`, bootstrapScript: `${name}.sh`, cpuCount: 0.1, memoryMB: 32, ...fields })
  }

  /**
   * job registers a job.
   * @param {string} name
   * @param {string} app
   * @param {object} [fields]
   */
  job(name, app, fields) {
    return this.api('POST', '/api/job/register', {
      jobName: name, appName: app, jobExecutionType: 'TRANSIENT', shardingTotalCount: 1, cpuCount: 0.1, memoryMB: 16, ...fields,
    })
  }

  /**
   * run triggers a job, waits until the execution has one of the given states, and returns it.
   * @param {string} job
   * @param {...string} states
   */
  async run(job, ...states) {
    const { executionId } = await this.api('POST', `/api/job/${encodeURIComponent(job)}/trigger`)
    return this.reached(executionId, ...states)
  }

  /**
   * reached waits until an execution has one of the given states.
   * @param {string} id
   * @param {...string} states
   */
  reached(id, ...states) {
    return until(`execution ${id} is ${states.join(' or ')}`, async () => {
      const execution = await this.api('GET', `/api/execution/${encodeURIComponent(id)}`)
      return states.includes(execution.state) ? execution : undefined
    })
  }

  /** kill ends the server as kill -9 does. Its tasks continue to run. */
  async kill() {
    const child = this.#process
    assert.ok(child, 'the server runs')
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    this.#process = null
  }

  /** end ends the server and its tasks, removes its files, and fails if its log contains what it must not. */
  async end() {
    try {
      if (!this.#process && this.#port) await this.start() // only a running server can end its tasks
      const child = this.#process
      if (child && child.exitCode === null) {
        child.kill('SIGTERM')
        await once(child, 'exit')
      }
      for (const bad of ['DATA RACE', 'panic:', 'fatal error:', '"level":"ERROR"']) {
        const at = this.#log.indexOf(bad)
        assert.ok(at < 0, `the server's log holds ${bad}:\n${this.#log.slice(at, at + 6000)}`)
      }
    } finally {
      await rm(this.dir, { recursive: true, force: true })
    }
  }

  /** log returns the end of the server's log. */
  log() {
    return this.#log.slice(-4000)
  }
}
