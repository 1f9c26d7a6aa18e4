// All views of the console, for the screenshots and for the test that no view reports a problem.
import { longName } from './demo.js'

const part = encodeURIComponent

/**
 * views returns the addresses by the names of their pictures.
 * @param {import('./demo.js').Demo} demo
 * @returns {Record<string, string>}
 */
export const views = (demo) => ({
  overview: '/',
  apps: '/apps',
  app: '/apps/app/billing',
  'app-new': '/apps/new',
  'app-edit': '/apps/app/billing/edit',
  jobs: '/jobs',
  'jobs-found': '/jobs?search=invoices',
  'jobs-none': '/jobs?search=nothing-is-called-so',
  job: '/jobs/job/nightly-invoices',
  'job-failing': '/jobs/job/stock-copy',
  'job-waiting': '/jobs/job/yearly-statement',
  'job-daemon': '/jobs/job/heartbeat',
  'job-long-name': `/jobs/job/${longName}`,
  'job-new': '/jobs/new',
  'job-edit': '/jobs/job/nightly-invoices/edit',
  executions: '/executions',
  'execution-finished': `/executions/execution/${part(demo.finished)}`,
  'execution-failed': `/executions/execution/${part(demo.failed)}`,
  'execution-running': `/executions/execution/${part(demo.running)}`,
  'execution-log': `/executions/execution/${part(demo.finished)}/log`,
  log: `/tasks/task/${part(demo.task)}/log`,
  'log-failed': `/tasks/task/${part(demo.failedTask)}/log`,
  cluster: '/cluster',
  agent: `/cluster/agent/${part(demo.agent)}`,
  history: '/history',
  audit: '/audit',
  users: '/users',
  tokens: '/tokens',
  unknown: '/there/is/no/such/page',
})

/**
 * drawn waits until a view is complete.
 * @param {import('playwright-core').Page} page
 */
export async function drawn(page) {
  await page.getByRole('heading', { level: 1 }).first().waitFor()
  await page.waitForFunction(() => !document.querySelector('[aria-busy="true"], .busy'))
  // Two frames later, the view is on the screen.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))
}
