// The first steps on a server that has no job yet.
import { seg } from './api.js'

/** @typedef {import('./api.js').Request} Request */
/** @typedef {{name: 'publish' | 'register' | 'trigger', done: boolean, requests: Request[]}} Step */

/**
 * stepsOf returns the steps to the first run, each with the requests that take it with the built-in example. A step that is done
 * has no requests. Neither has any step if the example is not known, for example because the user may not publish it. The app of
 * the example may exist already, for example after a job of it was deleted.
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
