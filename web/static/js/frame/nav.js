import { html, useEffect, useState } from '../lib/html.js'
import { call } from '../lib/api.js'
import { afterLeaving, place } from '../lib/router.js'
import { readSession, may, session } from '../lib/session.js'
import { useSignal } from '../lib/signal.js'
import { language, narrowNav, theme, zone } from '../lib/store.js'
import { texts } from '../lib/texts.js'
import { Icon } from '../pieces/icon.js'
import { OwnPassword } from '../pieces/password.js'
import { toast } from '../pieces/toast.js'
import { overview } from './problems.js'

const t = texts(
  {
    overview: 'Overview', apps: 'Apps', jobs: 'Jobs', executions: 'Executions', cluster: 'Cluster', history: 'History', audit: 'Audit', users: 'Users', tokens: 'Tokens',
    pages: 'Pages', menu: 'Menu', search: 'Search', collapse: 'Collapse', expand: 'Expand', leads: '{address} leads, term {term}', noLeader: 'no leader known',
    themeSystem: 'Theme: system', themeLight: 'Theme: light', themeDark: 'Theme: dark', other: '中文', zoneMine: 'Times: my zone', zoneJob: 'Times: the job’s zone', zoneUtc: 'Times: UTC', api: 'API', logout: 'Log out', machine: 'all users of this machine',
  },
  {
    overview: '概览', apps: '应用', jobs: '作业', executions: '执行记录', cluster: '集群', history: '历史', audit: '审计', users: '用户', tokens: '令牌',
    pages: '页面', menu: '菜单', search: '搜索', collapse: '收起', expand: '展开', leads: '主调度器 {address}，任期 {term}', noLeader: '没有已知的主调度器',
    themeSystem: '主题：跟随系统', themeLight: '主题：浅色', themeDark: '主题：深色', other: 'English', zoneMine: '时间：本地时区', zoneJob: '时间：作业时区', zoneUtc: '时间：UTC', api: 'API', logout: '退出登录', machine: '本机的所有人',
  },
)

/** @typedef {'overview' | 'apps' | 'jobs' | 'executions' | 'cluster' | 'history' | 'audit' | 'users' | 'tokens'} Section */

/**
 * sections returns the pages of the navigation that the user may see.
 * @returns {{id: Section, to: string, admin?: boolean}[]}
 */
export function sections() {
  /** @type {{id: Section, to: string, admin?: boolean}[]} */
  const all = [
    { id: 'overview', to: '/' }, { id: 'apps', to: '/apps' }, { id: 'jobs', to: '/jobs' }, { id: 'executions', to: '/executions' }, { id: 'cluster', to: '/cluster' }, { id: 'history', to: '/history' },
    { id: 'audit', to: '/audit', admin: true }, { id: 'users', to: '/users', admin: true }, { id: 'tokens', to: '/tokens', admin: true },
  ]
  return all.filter((s) => (s.admin ? may('admin') : s.id !== 'cluster' || may('viewer')))
}

/** sectionName returns the name of a section. */
export const sectionName = (/** @type {Section} */ id) => t(id)

/** @template T @param {T[]} of @param {T} now */
const next = (of, now) => of[(of.indexOf(now) + 1) % of.length]

// turnTheme, turnLanguage and turnZone switch to the next choice.
export const turnTheme = () => theme.set(next(/** @type {const} */ (['system', 'light', 'dark']).slice(), theme.get()))
export const turnLanguage = () => afterLeaving(() => language.set(language.get() === 'en' ? 'zh' : 'en'))
export const turnZone = () => zone.set(next(/** @type {const} */ (['mine', 'job', 'utc']).slice(), zone.get()))
export const themeName = () => t(/** @type {const} */ ({ system: 'themeSystem', light: 'themeLight', dark: 'themeDark' })[theme.get()])
export const zoneName = () => t(/** @type {const} */ ({ mine: 'zoneMine', job: 'zoneJob', utc: 'zoneUtc' })[zone.get()])

/** logOut ends the login. */
export async function logOut() {
  try {
    await call({ method: 'DELETE', path: '/api/session' })
  } catch (e) {
    toast(String(/** @type {Error} */ (e).message), { error: true })
  }
  await readSession()
}

/**
 * Nav is the navigation: a column at the left, or on small screens a bar with a menu.
 * @param {{section: string, onSearch: () => void}} props
 */
export function Nav({ section, onSearch }) {
  const [open, setOpen] = useState(false)
  const narrow = useSignal(narrowNav)
  const { key } = useSignal(place)
  useSignal(theme)
  useEffect(() => setOpen(false), [key])
  return html`
    <nav class="topbar" aria-label=${t('menu')}>
      <button type="button" class="button plain icon" aria-label=${t('menu')} aria-expanded=${open} onClick=${() => setOpen(!open)}><${Icon} name=${open ? 'close' : 'menu'} /></button>
      <a href="/" class="grow"><strong>ElasticJob</strong></a>
      <button type="button" class="button plain icon" aria-label=${t('search')} onClick=${onSearch}><${Icon} name="search" /></button>
    </nav>
    <nav class=${`nav${open ? ' open' : ''}`} aria-label=${t('pages')}>
      <a class="brand" href="/" aria-label="ElasticJob"><svg width="24" height="24" viewBox="0 0 16 16" aria-hidden="true"><rect width="16" height="16" rx="3" fill="var(--accent)" /><path d="M4 4.5h8M4 8h5.5M4 11.5h8" stroke="var(--on-accent)" stroke-width="1.75" stroke-linecap="round" /></svg><span class="word">ElasticJob</span></a>
      ${sections().map((s, i, all) => html`
        ${s.admin && !all[i - 1].admin && html`<hr />`}
        <a key=${s.id} class="entry" href=${s.to} aria-current=${s.id === section ? 'page' : undefined} title=${narrow ? t(s.id) : undefined}><${Icon} name=${s.id} /><span class="word">${t(s.id)}</span></a>`)}
      <div class="foot">
        <${Leader} />
        <button type="button" class="entry" onClick=${turnTheme} title=${themeName()}><${Icon} name="theme" /><span class="word">${themeName()}</span></button>
        <button type="button" class="entry" onClick=${turnLanguage} title=${t('other')}><${Icon} name="language" /><span class="word">${t('other')}</span></button>
        <button type="button" class="entry" onClick=${turnZone} title=${zoneName()}><${Icon} name="clock" /><span class="word">${zoneName()}</span></button>
        <a class="entry" href="/api/docs" title=${t('api')}><${Icon} name="api" /><span class="word">${t('api')}</span></a>
        <${Who} />
        <button type="button" class="entry collapse" onClick=${() => narrowNav.set(!narrow)} title=${t(narrow ? 'expand' : 'collapse')}><${Icon} name=${narrow ? 'expand' : 'collapse'} /><span class="word">${t(narrow ? 'expand' : 'collapse')}</span></button>
      </div>
    </nav>`
}

function Leader() {
  const o = useSignal(overview)
  if (!o) return null
  if (!o.leader && !may('viewer')) return null // users who may see only some apps do not get it
  return html`<div class="who" title=${o.version}>${o.leader ? t('leads', { address: o.leader.address, term: o.leader.term }) : t('noLeader')}</div>`
}

function Who() {
  const who = useSignal(session)
  if (!who) return null
  const name = who.kind === 'machine' ? t('machine') : who.name
  return html`<div class="who">${name} · ${who.role}${who.apps?.length ? `: ${who.apps.join(', ')}` : ''}</div>
    ${who.kind === 'user' && html`<${OwnPassword} name=${who.name} />`}
    ${who.expires && html`<button type="button" class="entry" onClick=${() => afterLeaving(() => void logOut())} title=${t('logout')}><${Icon} name="out" /><span class="word">${t('logout')}</span></button>`}`
}
