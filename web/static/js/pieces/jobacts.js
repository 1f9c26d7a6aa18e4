// The actions on a job, depending on its state.
import { get, seg } from '../lib/api.js'
import { may } from '../lib/session.js'
import { texts } from '../lib/texts.js'

const t = texts(
  {
    trigger: 'Trigger now', pause: 'Pause', resume: 'Resume', enable: 'Enable', disable: 'Disable', shutdown: 'Shut down', delete: 'Delete',
    triggered: '{name} was triggered', paused: '{name} is paused', resumed: '{name} is resumed', enabled: '{name} is enabled', disabled: '{name} is disabled', shuttingDown: '{name} is shutting down', deleted: '{name} was deleted',
    disableTitle: 'Disable {name}?', shutdownTitle: 'Shut down {name}?', deleteTitle: 'Delete {name}?',
    disableText: 'No new runs start until it is enabled.', shutdownText: 'No new runs start; running shards finish, then the job is disabled until it is enabled again.',
    deleteText: 'Its settings are removed, its runs stay in the history. This can be undone immediately afterwards, unless its settings have a secret; the curl line that registers it again is on its page, under Settings.',
    kills: 'Kills {n|running shard|running shards}.', drops: '{n|waiting shard ends|waiting shards end} as killed.',
  },
  {
    trigger: '立即触发', pause: '暂停', resume: '恢复', enable: '启用', disable: '禁用', shutdown: '运行完后禁用', delete: '删除',
    triggered: '已触发 {name}', paused: '已暂停 {name}', resumed: '已恢复 {name}', enabled: '已启用 {name}', disabled: '已禁用 {name}', shuttingDown: '{name} 将在运行完后禁用', deleted: '已删除 {name}',
    disableTitle: '禁用 {name}？', shutdownTitle: '{name} 运行完后禁用？', deleteTitle: '删除 {name}？',
    disableText: '启用之前不再开始新的执行。', shutdownText: '不再开始新的执行；正在运行的将运行至结束，随后作业被禁用，直到再次启用。',
    deleteText: '作业配置将被删除，执行记录仍保留在历史中。若配置中没有敏感值，删除后可立即撤销；作业页面的“配置”里有重新注册它的 curl 命令。',
    kills: '将终止 {n} 个正在运行的分片。', drops: '{n} 个等待中的分片将以已终止结束。',
  },
)

/** @typedef {'trigger' | 'pause' | 'resume' | 'enable' | 'disable' | 'shutdown' | 'delete'} JobActName */

/**
 * @typedef {object} KnownJob what the actions must know about a job
 * @property {string} jobName
 * @property {string} appName
 * @property {string} jobExecutionType
 * @property {string} state the state of the job, as in explain
 * @property {number} [running] how many of its shards run
 * @property {number} [waiting] how many of its shards wait
 */

/** jobActNames are all actions, in the order in which they are shown. */
export const jobActNames = /** @type {const} */ (['trigger', 'pause', 'resume', 'enable', 'disable', 'shutdown', 'delete'])

/** jobActLabel returns the label of an action. */
export const jobActLabel = (/** @type {JobActName} */ name) => t(name)

const off = ['DISABLED', 'SHUTTING_DOWN']

/**
 * mayDo reports whether an action is possible in a job's state and allowed to the user.
 * @param {KnownJob} job
 * @param {JobActName} act
 */
export function mayDo(job, act) {
  if (!may(act === 'delete' ? 'admin' : 'operator', job.appName)) return false
  switch (act) {
    case 'trigger': return job.jobExecutionType !== 'DAEMON' && ![...off, 'APP_DISABLED', 'PAUSED', 'FAULTY'].includes(job.state)
    case 'pause': return ![...off, 'PAUSED', 'FAULTY'].includes(job.state)
    case 'resume': return job.state === 'PAUSED'
    case 'enable': return off.includes(job.state)
    case 'disable': return job.state !== 'DISABLED'
    case 'shutdown': return !off.includes(job.state) && job.state !== 'FAULTY'
    default: return true
  }
}

/**
 * jobRequest returns the request of an action.
 * @param {string} jobName
 * @param {JobActName} act
 * @returns {import('../lib/api.js').Request}
 */
export function jobRequest(jobName, act) {
  if (act === 'delete') return { method: 'DELETE', path: `/api/job/${seg(jobName)}/deregister` }
  return { method: 'POST', path: `/api/job/${seg(jobName)}/${act}` }
}

/** @type {Record<JobActName, {icon: import('./icon.js').IconName, done: Parameters<typeof t>[0], undo?: JobActName}>} */
const facts = {
  trigger: { icon: 'play', done: 'triggered' },
  pause: { icon: 'pause', done: 'paused', undo: 'resume' },
  resume: { icon: 'play', done: 'resumed', undo: 'pause' },
  enable: { icon: 'refresh', done: 'enabled', undo: 'disable' },
  disable: { icon: 'stop', done: 'disabled', undo: 'enable' },
  shutdown: { icon: 'stop', done: 'shuttingDown', undo: 'enable' },
  delete: { icon: 'trash', done: 'deleted' },
}

/**
 * losses describes the shards that an action ends; '' for none.
 * @param {number} running
 * @param {number} waiting
 */
export function losses(running, waiting) {
  return [running && t('kills', { n: running }), waiting && t('drops', { n: waiting })].filter(Boolean).join(' ')
}

/**
 * jobAct returns an action on one job. An action that ends running work asks first; a deletion asks for the job's name.
 * @param {KnownJob} job
 * @param {JobActName} act
 * @returns {import('./act.js').Act}
 */
export function jobAct(job, act) {
  const { icon, done, undo } = facts[act]
  const name = job.jobName
  const lost = losses(act === 'shutdown' ? 0 : (job.running ?? 0), job.waiting ?? 0)
  /** @type {import('./act.js').Act['confirm']} */
  let confirm
  if (act === 'disable' && lost) confirm = { title: t('disableTitle', { name }), text: `${lost} ${t('disableText')}` }
  if (act === 'shutdown') confirm = { title: t('shutdownTitle', { name }), text: `${lost} ${t('shutdownText')}` }
  if (act === 'delete') confirm = { title: t('deleteTitle', { name }), text: `${lost} ${t('deleteText')}`, name }
  const back = act === 'delete' ? () => registration(job) : undo && [jobRequest(name, undo)]
  return { label: t(act), icon, requests: [jobRequest(name, act)], done: t(done, { name }), undo: back, confirm, danger: act === 'delete' || (act === 'disable' && lost !== '') }
}

// The actions that bring a registered job into a state.
/** @type {Record<string, JobActName>} */
const actsToState = { DISABLED: 'disable', PAUSED: 'pause', SHUTTING_DOWN: 'shutdown' }

/**
 * registration returns the requests that register a job again with its current settings. It returns undefined if that is not possible:
 * the console cannot read secrets, and a faulty document cannot be registered.
 * @param {KnownJob} job
 * @returns {Promise<import('../lib/api.js').Request[] | undefined>}
 */
async function registration({ jobName, state }) {
  if (state === 'FAULTY') return undefined
  const body = await get(`/api/job/jobs/${seg(jobName)}`)
  if (JSON.stringify(body).includes('******')) return undefined
  return [{ method: 'POST', path: '/api/job/register', body }, ...(actsToState[state] ? [jobRequest(jobName, actsToState[state])] : [])]
}
