// The audit: the changes that users made.
import { html, useEffect, useState } from '../lib/html.js'
import { get, withQuery } from '../lib/api.js'
import { actionWord } from '../lib/codewords.js'
import { useResource } from '../lib/resource.js'
import { useQuery } from '../lib/router.js'
import { texts } from '../lib/texts.js'
import { Page } from '../frame/page.js'
import { useBusy } from '../pieces/act.js'
import { Dialog } from '../pieces/dialog.js'
import { Diff } from '../pieces/diff.js'
import { Filters } from '../pieces/filters.js'
import { Empty, Loaded } from '../pieces/notice.js'
import { Table } from '../pieces/table.js'
import { Time } from '../pieces/time.js'
import { toast } from '../pieces/toast.js'
import { link } from '../routes.js'

const t = texts(
  {
    title: 'Audit', search: 'Search the audit', who: 'Who', action: 'Action', target: 'Target', targetHelp: 'kind or name', kind: 'Kind', app: 'App', from: 'From', to: 'Until', time: 'Time', address: 'Address', changes: 'Changes', show: 'Show what changed', fields: '{n|field|fields}', none: 'No matching rows', noneHelp: 'Every change has a row here. Remove a filter, or make a change.', more: 'Older rows', at: '{action}: {target}', by: '{who} ({kind}), from {from}', nobody: 'manual edit of the registry',
    machine: 'a user of this machine', noChange: 'No details were recorded.',
  },
  {
    title: '审计', search: '搜索审计记录', who: '操作者', action: '操作', target: '对象', targetHelp: '类型或名称', kind: '类型', app: '应用', from: '从', to: '至', time: '时间', address: '来源地址', changes: '更改', show: '显示更改', fields: '{n} 个字段', none: '没有符合条件的记录', noneHelp: '每次更改都会在此留下一条记录。请减少筛选条件，或进行一次更改。', more: '更早的记录', at: '{action}：{target}', by: '{who}（{kind}），来自 {from}', nobody: '直接修改注册中心',
    machine: '本机的某人', noChange: '除操作本身外没有可显示的内容。',
  },
)

/** @typedef {{id: string, time: string, who: string, kind: string, from: string, action: string, target: string, targetName: string, app: string, before: any, after: any}} Row */

const actions = ['app.register', 'app.update', 'app.disable', 'app.enable', 'app.delete', 'job.register', 'job.update', 'job.disable', 'job.enable', 'job.delete', 'job.shutdown', 'job.pause', 'job.resume', 'job.trigger', 'execution.kill', 'task.kill', 'task.forget', 'machine.cordon', 'machine.uncordon', 'machine.drain', 'machine.dead', 'cluster.reconcile', 'user.add', 'user.update', 'user.password', 'user.logout', 'user.remove', 'token.add', 'token.remove']
const keys = ['who', 'action', 'target', 'app', 'startTime', 'endTime']

export default function Audit() {
  const [query] = useQuery()
  const path = withQuery('/api/audit', { ...Object.fromEntries(keys.map((k) => [k, query[k]])), limit: 100 })
  const newest = useResource(path, { every: 5000 })
  const [older, setOlder] = useState(/** @type {{rows: Row[], next?: string} | null} */ (null))
  const [shown, setShown] = useState(/** @type {Row | null} */ (null))
  const [busy, run] = useBusy()
  useEffect(() => setOlder(null), [path])
  const more = (/** @type {string} */ cursor) => run(async () => {
    try {
      const answer = await get(withQuery(path, {}) + `&cursor=${encodeURIComponent(cursor)}`)
      setOlder((before) => ({ rows: [...(before?.rows ?? newest.data.rows), ...answer.rows], next: answer.next }))
    } catch (e) {
      toast(/** @type {Error} */ (e).message, { error: true })
    }
  })
  return html`<${Page} title=${t('title')}>
    <${Filters} label=${t('search')} query=${query} of=${[
      { key: 'who', label: t('who') }, { key: 'action', label: t('action'), options: actions.map((value) => ({ value, text: actionWord(value) })) }, { key: 'target', label: `${t('target')} (${t('targetHelp')})` }, { key: 'app', label: t('app') },
      { key: 'startTime', label: t('from'), time: true }, { key: 'endTime', label: t('to'), time: true },
    ]} />
    <${Loaded} of=${newest}>${(/** @type {{rows: Row[], next?: string}} */ data) => {
      const rows = joined(data.rows, older?.rows ?? [])
      const next = older ? older.next : data.next
      return rows.length === 0
        ? html`<${Empty} title=${t('none')}><p>${t('noneHelp')}</p></${Empty}>`
        : html`<${Table} label=${t('title')} rows=${rows} id=${(/** @type {Row} */ r) => r.id} gather columns=${[
            { key: 'time', label: t('time'), cell: (/** @type {Row} */ r) => html`<${Time} at=${r.time} exact />` },
            { key: 'who', label: t('who'), cell: (/** @type {Row} */ r) => html`${whoOf(r)} <span class="muted small">${r.kind}</span>`, title: (/** @type {Row} */ r) => r.who },
            { key: 'action', label: t('action'), cell: (/** @type {Row} */ r) => actionWord(r.action), title: (/** @type {Row} */ r) => r.action },
            { key: 'target', label: t('kind'), cell: (/** @type {Row} */ r) => html`<span class="muted">${r.target}</span>` },
            { key: 'name', label: t('target'), cell: (/** @type {Row} */ r) => html`<${Target} row=${r} />`, title: (/** @type {Row} */ r) => r.targetName },
            { key: 'changes', label: t('changes'), cell: (/** @type {Row} */ r) => html`<button type="button" class="link-button" aria-label=${`${changed(r)}: ${t('show')}`} onClick=${() => setShown(r)}>${changed(r)}</button>` },
            { key: 'app', label: t('app'), cell: (/** @type {Row} */ r) => r.app && html`<a href=${link.app(r.app)}>${r.app}</a>`, title: (/** @type {Row} */ r) => r.app },
            { key: 'from', label: t('address'), cell: (/** @type {Row} */ r) => r.from },
          ]} />
          ${next && html`<div class="pager"><button type="button" class="button small" disabled=${busy} onClick=${() => more(next)}>${busy && html`<span class="busy"></span>`}${t('more')}</button></div>`}`
    }}</${Loaded}>
    ${shown && html`<${Dialog} title=${t('at', { action: actionWord(shown.action), target: shown.targetName })} wide onClose=${() => setShown(null)}>
      <p class="muted"><${Time} at=${shown.time} exact /> · ${t('by', { who: whoOf(shown), kind: shown.kind, from: shown.from || '–' })}</p>
      ${shown.before || shown.after ? html`<${Diff} before=${shown.before} after=${shown.after} onlyChanges />` : html`<p>${t('noChange')}</p>`}
    </${Dialog}>`}
  </${Page}>`
}

/** joined returns the newest rows followed by the older ones, without duplicates. @param {Row[]} newest @param {Row[]} older */
function joined(newest, older) {
  const known = new Set(newest.map((r) => r.id))
  return [...newest, ...older.filter((r) => !known.has(r.id))]
}

/** @param {Row} r */
const whoOf = (r) => r.who || (r.kind === 'registry' ? t('nobody') : r.kind === 'machine' ? t('machine') : '–')

/** changed returns the names of the fields that changed. @param {Row} r */
function changed(r) {
  const names = [...new Set([...Object.keys(r.before ?? {}), ...Object.keys(r.after ?? {})])]
  if (names.length === 0) return t('show')
  return names.length <= 3 ? names.join(', ') : `${names.slice(0, 2).join(', ')} + ${t('fields', { n: names.length - 2 })}`
}

/** @param {{row: Row}} props */
function Target({ row }) {
  const { target, targetName: name } = row
  const to = target === 'app' ? link.app(name) : target === 'job' ? link.job(name) : target === 'execution' ? link.execution(name) : target === 'task' ? link.log(name) : target === 'user' ? '/users' : target === 'token' ? '/tokens' : target === 'cluster' ? '/cluster' : ''
  return to ? html`<a href=${to}>${name}</a>` : name
}
