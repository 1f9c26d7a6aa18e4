// The first steps on a server that has no job yet.
import { seg } from './api.js'

/** @typedef {import('./api.js').Request} Request */
/** @typedef {{name: 'publish' | 'register' | 'trigger', done: boolean, requests: Request[]}} Step */

/**
 * stepsOf returns the steps to the first run, each with the requests that do it with the built-in example. The step publish has no
 * requests if the example's app exists already, for example after its job was deleted. No step has requests while the example is not
 * known, for example because the user may not publish it.
 * @param {{app?: any, jobs?: any[]} | undefined} example the answer to GET /api/example
 * @param {{appName: string}[] | undefined} apps the existing apps
 * @returns {Step[]}
 */
export function stepsOf(example, apps) {
  const { app, jobs = [] } = (apps && example) ?? {}
  const published = apps?.some((a) => a.appName === app?.appName)
  return [
    { name: 'publish', done: Boolean(apps?.length), requests: app && !published ? [{ method: 'POST', path: '/api/app', body: app }] : [] },
    { name: 'register', done: false, requests: jobs.map((job) => ({ method: 'POST', path: '/api/job/register', body: job })) },
    { name: 'trigger', done: false, requests: jobs.map((job) => ({ method: 'POST', path: `/api/job/${seg(job.jobName)}/trigger` })) },
  ]
}
