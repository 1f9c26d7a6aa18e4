// Notices in place of content that is empty, failed to load or is still loading.
import { html } from '../lib/html.js'
import { texts } from '../lib/texts.js'
import { Time } from './time.js'

const t = texts(
  { failed: 'This could not be read', again: 'Try again', stale: 'This is from {ago}: ', loading: 'Loading', notAllowed: 'You can view this, but not change it', notAllowedHelp: 'Users with the role admin for the app publish it and register its jobs. An admin can grant the role.' },
  { failed: '无法读取', again: '重试', stale: '数据时间 {ago}：', loading: '加载中', notAllowed: '您可以查看，但不能修改', notAllowedHelp: '对应用拥有管理员角色的用户可以发布应用、注册作业。请联系管理员授予此角色。' },
)

/**
 * Empty says what would be here, and the step that leads to it.
 * @param {{title: string, children?: any}} props
 */
export const Empty = ({ title, children }) => html`<div class="notice"><h2>${title}</h2>${children}</div>`

/**
 * Failure says what failed and what to do. busy is set if it is retried automatically.
 * @param {{error: any, again?: () => void, busy?: boolean}} props
 */
export const Failure = ({ error, again, busy = false }) => html`<div class="notice error" role="alert" aria-busy=${busy}>
  <h2>${t('failed')}</h2>
  <p>${error.message}</p>
  ${error.fields?.length ? html`<ul>${error.fields.map((/** @type {any} */ f) => html`<li><code>${f.field}</code>: ${f.message}</li>`)}</ul>` : null}
  ${again && html`<button type="button" class="button" onClick=${again}>${t('again')}</button>`}
</div>`

/**
 * Loaded shows a resource: its data, with their age if a newer request has failed, or the error, or that it is loading.
 * @template T
 * @param {{of: import('../lib/resource.js').Resource<T>, children: (data: T) => any}} props
 */
export function Loaded({ of, children }) {
  if (of.data === undefined) return of.error ? html`<${Failure} error=${of.error} again=${of.reload} busy=${of.retrying} />` : html`<div class="muted" aria-busy="true" style=${{ minHeight: '50vh' }}><span class="hidden">${t('loading')}</span></div>`
  return html`${of.error && html`<div class="connection" role="status">${of.error.message} <${Time} at=${of.at} /> <button type="button" class="link-button" onClick=${of.reload}>${t('again')}</button></div>`}${children(of.data)}`
}

/** NotAllowed replaces a form that the user may not submit. */
export const NotAllowed = () => html`<div class="notice" role="alert"><h2>${t('notAllowed')}</h2><p>${t('notAllowedHelp')}</p></div>`
