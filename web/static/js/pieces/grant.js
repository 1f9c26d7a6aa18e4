// Permissions: a role, for all apps or for some.
import { html } from '../lib/html.js'
import { texts } from '../lib/texts.js'
import { Ask } from './ask.js'

const t = texts(
  {
    role: 'Role', apps: 'Apps', all: 'all apps', appsHelp: 'Names or patterns with *, separated by commas, such as billing-*. Empty: all apps, the cluster and, for an admin, users and the audit.',
    admin: 'Admin', operator: 'Operator', viewer: 'Viewer', metrics: 'Metrics', adminHelp: 'publishes and deletes apps and jobs; for all apps: users and tokens, too', operatorHelp: 'sees, triggers, kills, pauses, disables', viewerHelp: 'sees everything but changes nothing', metricsHelp: 'reads /metrics only',
  },
  {
    role: '角色', apps: '应用', all: '所有应用', appsHelp: '名称或带 * 的模式，用逗号分隔，例如 billing-*。留空表示所有应用和集群；管理员还包括用户和审计。',
    admin: '管理员', operator: '操作员', viewer: '只读', metrics: '监控', adminHelp: '发布和删除应用与作业；若针对所有应用，还可管理用户和令牌', operatorHelp: '查看、触发、终止、暂停、禁用', viewerHelp: '只能查看，不能修改', metricsHelp: '仅可读取 /metrics',
  },
)

export const roles = /** @type {const} */ (['viewer', 'operator', 'admin', 'metrics'])
/** @typedef {typeof roles[number]} Role */

/** roleName returns the name of a role in the user's language. @param {string} role */
export const roleName = (role) => (roles.includes(/** @type {Role} */ (role)) ? t(/** @type {Role} */ (role)) : role)

/** appsText describes the apps that a grant covers. @param {string[] | undefined} apps */
export const appsText = (apps) => (apps?.length ? apps.join(', ') : t('all'))

/** appsOf parses the text that the user typed for apps. @param {string} typed @returns {{apps?: string[]}} */
export function appsOf(typed) {
  const apps = typed.split(/[\s,]+/).filter(Boolean)
  return apps.length ? { apps } : {}
}

/**
 * Grant asks for a role and apps.
 * @param {{role: string, apps: string, errors: Record<string, string>, onRole: (r: string) => void, onApps: (a: string) => void, only?: readonly Role[]}} props
 */
export function Grant({ role, apps, errors, onRole, onApps, only = roles }) {
  return html`<${Ask} label=${t('role')} error=${errors.role} help=${t(/** @type {'adminHelp'} */ (`${role}Help`))}>${(/** @type {any} */ a) => html`<select ...${a} value=${role} onChange=${(/** @type {any} */ e) => onRole(e.target.value)}>${only.map((r) => html`<option key=${r} value=${r}>${t(r)}</option>`)}</select>`}</${Ask}>
    ${role !== 'metrics' && html`<${Ask} label=${t('apps')} error=${errors.apps} help=${t('appsHelp')}>${(/** @type {any} */ a) => html`<input ...${a} value=${apps} placeholder=${t('all')} spellcheck="false" autocomplete="off" onInput=${(/** @type {any} */ e) => onApps(e.target.value)} />`}</${Ask}>`}`
}

/**
 * errorsOf returns the errors of a request by field. Errors of fields that the form does not have are under ''.
 * @param {unknown} problem
 * @param {string[]} fields
 */
export function errorsOf(problem, fields) {
  const error = /** @type {import('../lib/api.js').ApiError} */ (problem)
  /** @type {Record<string, string>} */
  const found = {}
  for (const f of error.fields ?? []) {
    const key = fields.find((x) => f.field === x || f.field.startsWith(`${x}[`)) ?? ''
    found[key] = [found[key], key ? f.message : `${f.field}: ${f.message}`].filter(Boolean).join('; ')
  }
  if (!error.fields?.length) found[''] = error.message
  return found
}
