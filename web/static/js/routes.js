// Which module draws which address. The first route whose pattern matches is used.
/** @type {import('./lib/router.js').Route[]} */
export const routes = [
  { pattern: '/', section: 'overview', load: () => import('./pages/overview.js') },
  { pattern: '/apps', section: 'apps', load: () => import('./pages/apps.js') },
  { pattern: '/apps/new', section: 'apps', load: () => import('./pages/appform.js') },
  { pattern: '/apps/app/:app', section: 'apps', load: () => import('./pages/app.js') },
  { pattern: '/apps/app/:app/edit', section: 'apps', load: () => import('./pages/appform.js') },
  { pattern: '/jobs', section: 'jobs', load: () => import('./pages/jobs.js') },
  { pattern: '/jobs/new', section: 'jobs', load: () => import('./pages/jobform.js') },
  { pattern: '/jobs/job/:job', section: 'jobs', load: () => import('./pages/job.js') },
  { pattern: '/jobs/job/:job/edit', section: 'jobs', load: () => import('./pages/jobform.js') },
  { pattern: '/executions', section: 'executions', load: () => import('./pages/executions.js') },
  { pattern: '/executions/execution/:execution', section: 'executions', load: () => import('./pages/execution.js') },
  { pattern: '/executions/execution/:execution/log', section: 'executions', load: () => import('./pages/executionlog.js') },
  { pattern: '/tasks/task/:task/log', section: 'executions', load: () => import('./pages/log.js') },
  { pattern: '/cluster', section: 'cluster', load: () => import('./pages/cluster.js') },
  { pattern: '/cluster/agent/:agent', section: 'cluster', load: () => import('./pages/agent.js') },
  { pattern: '/history', section: 'history', load: () => import('./pages/history.js') },
  { pattern: '/audit', section: 'audit', load: () => import('./pages/audit.js') },
  { pattern: '/users', section: 'users', load: () => import('./pages/users.js') },
  { pattern: '/tokens', section: 'tokens', load: () => import('./pages/tokens.js') },
]

/**
 * link has the addresses of the console's own pages.
 */
export const link = {
  app: (/** @type {string} */ name) => `/apps/app/${encodeURIComponent(name)}`,
  editApp: (/** @type {string} */ name) => `/apps/app/${encodeURIComponent(name)}/edit`,
  job: (/** @type {string} */ name) => `/jobs/job/${encodeURIComponent(name)}`,
  editJob: (/** @type {string} */ name) => `/jobs/job/${encodeURIComponent(name)}/edit`,
  copyJob: (/** @type {string} */ name) => `/jobs/new?from=${encodeURIComponent(name)}`,
  execution: (/** @type {string} */ id) => `/executions/execution/${encodeURIComponent(id)}`,
  executionLog: (/** @type {string} */ id) => `/executions/execution/${encodeURIComponent(id)}/log`,
  log: (/** @type {string} */ task) => `/tasks/task/${encodeURIComponent(task)}/log`,
  agent: (/** @type {string} */ id) => `/cluster/agent/${encodeURIComponent(id)}`,
}
