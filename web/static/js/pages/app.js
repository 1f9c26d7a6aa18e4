// One app: its settings, its jobs, and the sandboxes of its executors.
import { html } from '../lib/html.js'
import { seg, withQuery } from '../lib/api.js'
import { memory, number } from '../lib/format.js'
import { noteOf } from '../lib/reasons.js'
import { useResource } from '../lib/resource.js'
import { go, useQuery } from '../lib/router.js'
import { may } from '../lib/session.js'
import { useTakesImages } from '../lib/takes.js'
import { texts } from '../lib/texts.js'
import { Page } from '../frame/page.js'
import { ActButton } from '../pieces/act.js'
import { Copy } from '../pieces/curl.js'
import { Icon } from '../pieces/icon.js'
import { ColumnChoice, JobTable } from '../pieces/jobtable.js'
import { Empty, Loaded } from '../pieces/notice.js'
import { State } from '../pieces/state.js'
import { Pager } from '../pieces/table.js'
import { pretty } from '../lib/json.js'
import { Time } from '../pieces/time.js'
import { link } from '../routes.js'
import { SearchField } from './jobs.js'

const t = texts(
  {
    apps: 'Apps', edit: 'Edit', disable: 'Disable', enable: 'Enable', delete: 'Delete', register: 'Register a job', disabled: '{name} is disabled, and so are its jobs', enabled: '{name} is enabled', deleted: '{name} was deleted',
    disableTitle: 'Disable {name}?', disableText: '{n|job starts|jobs start} no new runs until it is enabled.', running: '{n|of them runs: its|of them run: their} shards are killed.', deleteTitle: 'Delete {name}?', deleteAlone: 'It has no jobs. Its document is removed permanently.', deleteWith: '{n|job is|jobs are} deleted with it, and running shards are killed:', and: 'and {n} more',
    url: 'Package', script: 'Script', sha: 'SHA-256', notPinned: 'not pinned: the address decides', cpu: 'CPU', memory: 'Memory', executor: 'of its executor, once per agent', cache: 'Kept on agents', yes: 'yes', no: 'no', sampling: 'Sampling of daemons', all: 'all runs', image: 'Image', ownImage: 'the scheduler’s own', pull: 'pulled: {when}', secrets: 'Secrets to pull with', template: 'Pod template',
    jobs: 'Jobs', search: 'Search its jobs', none: 'No jobs yet', noneHelp: 'The app runs once a job is registered for it.', nothing: 'No matching jobs', sandboxes: 'Files of its executors', noSandboxes: 'No executor of it runs.', note: 'Where, and when one last reported',
  },
  {
    apps: '应用', edit: '编辑', disable: '禁用', enable: '启用', delete: '删除', register: '注册作业', disabled: '已禁用 {name} 及其作业', enabled: '已启用 {name}', deleted: '已删除 {name}',
    disableTitle: '禁用 {name}？', disableText: '{n} 个作业在启用之前不再开始新的执行。', running: '其中 {n} 个正在运行：其分片将被终止。', deleteTitle: '删除 {name}？', deleteAlone: '它没有作业，其配置将被永久删除。', deleteWith: '{n} 个作业将一并删除，正在运行的将被终止：', and: '另有 {n} 个',
    url: '应用包', script: '启动脚本', sha: 'SHA-256', notPinned: '未固定：以地址上的内容为准', cpu: 'CPU', memory: '内存', executor: '执行器占用，每个 Agent 一份', cache: '在 Agent 上保留', yes: '是', no: '否', sampling: '常驻作业采样', all: '全部运行', image: '镜像', ownImage: '调度器自带', pull: '拉取：{when}', secrets: '拉取所用的 Secret', template: 'Pod 模板',
    jobs: '作业', search: '搜索其作业', none: '还没有作业', noneHelp: '注册作业后，此应用才会运行。', nothing: '没有符合条件的作业', sandboxes: '执行器的文件', noSandboxes: '没有运行中的执行器。', note: '位置与最近上报时间',
  },
)

/** @param {{app: string}} props */
export default function App({ app }) {
  const path = `/api/app/${seg(app)}`
  const on = (/** @type {import('../lib/live.js').Change} */ c) => c.apps.includes(app)
  const doc = useResource(path, { on })
  const off = useResource(`${path}/disable`, { on })
  const images = useTakesImages()
  const [query, setQuery] = useQuery()
  const page = Number(query.page) || 1
  const perPage = 50
  /** @type {import('../lib/resource.js').Resource<import('../pieces/jobtable.js').JobPage>} */
  const whole = useResource(withQuery('/api/jobs', { app, per_page: 20 }), { on: (c) => c.jobs.length > 0 || on(c), gap: 2000 })
  /** @type {import('../lib/resource.js').Resource<import('../pieces/jobtable.js').JobPage>} */
  const jobs = useResource(withQuery('/api/jobs', { app, search: query.search, sort: query.sort, order: query.order, page, per_page: perPage }), { on: (c) => c.jobs.length > 0 || on(c), stay: true })
  const again = () => [doc, off, whole, jobs].forEach((r) => r.reload())
  const admin = may('admin', app)
  const acts = html`${admin && html`<a class="button" href=${link.editApp(app)}><${Icon} name="edit" />${t('edit')}</a>`}
    ${may('operator', app) && off.data !== undefined && html`<${ActButton} ...${switching(app, off.data === true, whole.data)} then=${again} />`}
    ${admin && html`<${ActButton} ...${deletion(app, whole.data)} />`}`
  const register = admin && html`<a class="button main" href=${withQuery('/jobs/new', { app })}><${Icon} name="plus" />${t('register')}</a>`
  return html`<${Page} title=${app} crumbs=${[{ to: '/apps', text: t('apps') }]} main=${register} heading=${off.data === true && html`<${State} of="DISABLED" />`} acts=${acts}>
    <${Loaded} of=${doc}>${(/** @type {any} */ a) => html`
      <section class="box"><dl class="facts">
        ${images && html`<dt>${t('image')}</dt><dd>${a.image ? html`<span class="mono">${a.image}</span> <${Copy} text=${a.image} />` : html`<span class="muted">${t('ownImage')}</span>`}${a.imagePullPolicy && html` <span class="muted">${t('pull', { when: a.imagePullPolicy })}</span>`}</dd>`}
        ${a.imagePullSecrets?.length > 0 && html`<dt>${t('secrets')}</dt><dd class="mono">${a.imagePullSecrets.join(', ')}</dd>`}
        ${a.podTemplate && html`<dt>${t('template')}</dt><dd><pre class="mono">${pretty(a.podTemplate)}</pre></dd>`}
        ${a.appURL && html`<dt>${t('url')}</dt><dd class="mono">${a.appURL} <${Copy} text=${a.appURL} /></dd>`}
        <dt>${t('script')}</dt><dd class="mono">${a.bootstrapScript}</dd>
        ${a.appURL && html`<dt>${t('sha')}</dt><dd>${a.appSHA256 ? html`<code>${a.appSHA256}</code>` : html`<span class="muted">${t('notPinned')}</span>`}</dd>`}
        ${images === false && html`<dt>${t('cpu')}, ${t('memory')}</dt><dd>${number(a.cpuCount)} CPU, ${memory(a.memoryMB)} <span class="muted">${t('executor')}</span></dd>`}
        ${images === false && html`<dt>${t('cache')}</dt><dd>${t(a.appCacheEnable ? 'yes' : 'no')}</dd>`}
        <dt>${t('sampling')}</dt><dd>${a.eventTraceSamplingCount ? number(a.eventTraceSamplingCount) : t('all')}</dd>
      </dl></section>
      <h2>${t('jobs')} ${whole.data && html`<span class="muted">${number(whole.data.total)}</span>`}</h2>
      <${Loaded} of=${jobs}>${(/** @type {import('../pieces/jobtable.js').JobPage} */ data) => {
        if (data.total === 0 && !query.search) return html`<${Empty} title=${t('none')}><p>${t('noneHelp')}</p>${register}</${Empty}>`
        return html`<div class="find"><${SearchField} value=${query.search ?? ''} label=${t('search')} onSearch=${(/** @type {string} */ text) => setQuery({ search: text, page: '' })} /><${ColumnChoice} /></div>
          ${data.rows.length === 0 ? html`<${Empty} title=${t('nothing')} />` : html`<${JobTable} question=${jobs.path} rows=${data.rows} without=${['app']} sorted=${{ key: query.sort ?? 'name', order: query.order === 'DESC' ? 'DESC' : 'ASC' }} onSort=${(/** @type {string} */ sort, /** @type {string} */ order) => setQuery({ sort, order, page: '' })} onDone=${jobs.reload} />`}
          ${data.total > perPage && html`<${Pager} page=${page} perPage=${perPage} total=${data.total} onPage=${(/** @type {number} */ n) => setQuery({ page: n === 1 ? '' : n }, { push: true })} />`}`
      }}</${Loaded}>
      ${may('viewer') && images === false && html`<${Sandboxes} app=${app} />`}`}</${Loaded}>
  </${Page}>`
}

/**
 * switching returns the action that disables or enables an app. Before an app with running jobs is disabled, a dialog says what is
 * killed, and the user must confirm.
 * @param {string} app
 * @param {boolean} isOff
 * @param {import('../pieces/jobtable.js').JobPage} [jobs]
 * @returns {import('../pieces/act.js').Act}
 */
function switching(app, isOff, jobs) {
  const enable = { method: 'POST', path: `/api/app/${seg(app)}/enable` }
  const disable = { method: 'POST', path: `/api/app/${seg(app)}/disable` }
  if (isOff) return { label: t('enable'), requests: [enable], done: t('enabled', { name: app }), undo: [disable] }
  const running = jobs?.byState.RUNNING ?? 0
  const confirm = running > 0 ? { title: t('disableTitle', { name: app }), text: `${t('disableText', { n: jobs?.total ?? 0 })} ${t('running', { n: running })}` } : undefined
  return { label: t('disable'), requests: [disable], done: t('disabled', { name: app }), undo: [enable], confirm, danger: running > 0 }
}

/**
 * deletion returns the action that deletes an app. A dialog first names the jobs that are deleted with it, and the user must confirm.
 * @param {string} app
 * @param {import('../pieces/jobtable.js').JobPage} [jobs]
 * @returns {import('../pieces/act.js').Act}
 */
function deletion(app, jobs) {
  const total = jobs?.total ?? 0
  const text = total === 0 ? html`<p>${t('deleteAlone')}</p>` : html`<p>${t('deleteWith', { n: total })}</p><ul class="names mono">${jobs?.rows.map((j) => html`<li key=${j.jobName}>${j.jobName}</li>`)}${total > (jobs?.rows.length ?? 0) && html`<li class="muted">${t('and', { n: number(total - (jobs?.rows.length ?? 0)) })}</li>`}</ul>`
  return {
    label: t('delete'), icon: 'trash', danger: true, requests: [{ method: 'DELETE', path: withQuery(`/api/app/${seg(app)}`, { jobs: total > 0 }) }], done: t('deleted', { name: app }),
    confirm: { title: t('deleteTitle', { name: app }), text, name: app }, disabled: jobs === undefined, then: () => go('/apps'),
  }
}

/** @param {{app: string}} props */
function Sandboxes({ app }) {
  const found = useResource(withQuery('/api/operate/sandbox', { appName: app }), { every: 15_000 })
  return html`<h2>${t('sandboxes')}</h2><${Loaded} of=${found}>${(/** @type {{hostname: string, path: string, lastReport?: string, note?: string}[]} */ all) =>
    all.length === 0 ? html`<p class="muted">${t('noSandboxes')}</p>` : html`<ul class="stack" aria-label=${t('note')}>${all.map((s) => html`<li key=${s.hostname + s.path} class="box"><strong>${s.hostname}</strong> <span class="muted small">${s.lastReport && html`<${Time} at=${s.lastReport} />`} ${noteOf(s)}</span><div class="row"><code class="grow">${s.path}</code><${Copy} text=${s.path} /></div></li>`)}</ul>`}</${Loaded}>`
}
