// What is to be done on a server that has no job yet.
import { seg } from './api.js'

/** @typedef {import('./api.js').Request} Request */
/** @typedef {{name: 'publish' | 'register' | 'trigger', done: boolean, requests: Request[]}} Step */

/**
 * stepsOf are the steps to the first run, with the requests that take each of them with the built-in example: none where the
 * step is done, or where the example is not known, as to those who may not publish it. The app of the example may be there
 * already, as after a job of it was deleted.
 * @param {{app?: any, jobs?: any[]} | undefined} example what GET /api/example answered
 * @param {{appName: string}[] | undefined} apps those that there are
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
