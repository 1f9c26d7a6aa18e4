// Requests to the REST API.
import { within } from './base.js'
import { signal } from './signal.js'

/** @typedef {{field: string, value: string, message: string}} Violation */

/** ApiError is an error that the server answered. Its status is 0 if there was no answer. */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {string} code
   * @param {string} message
   * @param {Violation[]} fields
   * @param {number} retryAfter seconds, 0 for unknown
   */
  constructor(status, code, message, fields = [], retryAfter = 0) {
    super(message)
    this.status = status
    this.code = code
    this.fields = fields
    this.retryAfter = retryAfter
  }
}

/** loginNeeded is true while the server answers 401, because the user has not logged in or the login has ended. */
export const loginNeeded = signal(false)

/**
 * @typedef {object} Request
 * @property {string} method
 * @property {string} path with its query
 * @property {unknown} [body] sent as JSON
 * @property {Record<string, string>} [headers]
 */

/**
 * call sends a request and returns the answer, parsed JSON or a text. It throws an ApiError, or an AbortError when signal aborts.
 * @param {Request} request
 * @param {{signal?: AbortSignal}} [how]
 * @returns {Promise<any>}
 */
export async function call(request, how = {}) {
  const answer = await send(request, how)
  const json = (answer.headers.get('Content-Type') ?? '').startsWith('application/json')
  return bodyOf(answer, json ? 'json' : 'text', how.signal)
}

/**
 * bodyOf reads an answer's body. If the connection ends meanwhile, it throws the same error as if there was no answer.
 * @param {Response} answer
 * @param {'json' | 'text' | 'arrayBuffer'} as
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function bodyOf(answer, as, signal) {
  try {
    return await answer[as]()
  } catch (e) {
    if (signal?.aborted) throw e
    throw noAnswer()
  }
}

const noAnswer = () => new ApiError(0, 'no_answer', 'The server does not answer. Is it running, and is there a way to it from here?')

/**
 * send sends a request like call, but returns the Response, for callers that read its headers or stream.
 * @param {Request} request
 * @param {{signal?: AbortSignal}} [how]
 */
export async function send({ method, path, body, headers = {} }, how = {}) {
  /** @type {Response} */
  let answer
  try {
    answer = await fetch(within(path), {
      method,
      headers: { Accept: 'application/json, text/plain', ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: how.signal,
      credentials: 'same-origin',
    })
  } catch (e) {
    if (how.signal?.aborted) throw e
    throw noAnswer()
  }
  if (answer.ok) return answer
  const error = await asError(answer)
  if (error.status === 401 && path !== '/api/session') loginNeeded.set(true)
  throw error
}

/** @param {Response} answer */
async function asError(answer) {
  const retry = Number(answer.headers.get('Retry-After')) || 0
  try {
    const { error } = await answer.json()
    return new ApiError(answer.status, error.code, error.message, error.fields ?? [], retry)
  } catch {
    return new ApiError(answer.status, 'unexpected', `The server answered ${answer.status} ${answer.statusText} with something that is not JSON.`, [], retry)
  }
}

/**
 * get returns the answer to a GET.
 * @param {string} path
 * @param {AbortSignal} [signal]
 */
export const get = (path, signal) => call({ method: 'GET', path }, { signal })

/**
 * withQuery returns a path with a query. It leaves out empty values and false.
 * @param {string} path
 * @param {Record<string, string | number | boolean | undefined | null>} query
 */
export function withQuery(path, query) {
  const q = new URLSearchParams()
  for (const [k, v] of Object.entries(query)) {
    if (v !== undefined && v !== null && v !== '' && v !== false) q.set(k, String(v))
  }
  const text = q.toString()
  return text ? `${path}?${text}` : path
}

/**
 * seg returns a name in the form of a path segment.
 * @param {string | number} name
 */
export const seg = (name) => encodeURIComponent(String(name))
