// The changes of a job: who changed what, and when.
import { html, useState } from '../lib/html.js'
import { get, seg, withQuery } from '../lib/api.js'
import { actionWord } from '../lib/codewords.js'
import { useResource } from '../lib/resource.js'
import { settingsAfter } from '../lib/settings.js'
import { texts } from '../lib/texts.js'
import { useBusy } from '../pieces/act.js'
import { Dialog } from '../pieces/dialog.js'
import { Diff } from '../pieces/diff.js'
import { Empty, Failure, Loaded } from '../pieces/notice.js'
import { Time } from '../pieces/time.js'
import { link } from '../routes.js'

const t = texts(
  {
    none: 'No changes recorded', noneHelp: 'Every registration, change, pause and trigger of the job appears here.', older: 'Show older changes', by: 'by {who}', then: 'Settings at that time', thenTitle: 'Settings after this change', cut: 'A field was too long to be kept whole.', own: 'For this run', registry: 'a manual edit of the registry', machine: 'a user of the server’s machine',
  },
  {
    none: '没有变更记录', noneHelp: '注册、修改、暂停、禁用或触发此作业的操作会显示在这里。', older: '显示更早的变更', by: '操作人：{who}', then: '当时的配置', thenTitle: '此次变更后的配置', cut: '有字段过长，未完整保存。', own: '仅此次执行', registry: '直接修改注册中心', machine: '调度器本机用户',
  },
)

/** @param {{job: string, doc: any, jobZone: string}} props */
export function Changes({ job, doc, jobZone }) {
  const path = `/api/job/${seg(job)}/changes`
  const first = useResource(withQuery(path, { limit: 50 }), { on: (c) => c.jobs.includes(job) })
  const [older, setOlder] = useState(/** @type {{rows: any[], next?: string}[]} */ ([]))
  const [error, setError] = useState(/** @type {any} */ (null))
  const [busy, run] = useBusy()
  const more = (/** @type {string} */ cursor) => run(async () => {
    try {
      setOlder([...older, await get(withQuery(path, { limit: 50, cursor }))])
      setError(null)
    } catch (e) {
      setError(e)
    }
  })
  return html`<${Loaded} of=${first}>${(/** @type {any} */ newest) => {
    const known = new Set()
    const rows = [newest, ...older].flatMap((p) => p.rows).filter((r) => !known.has(r.id) && known.add(r.id))
    const next = (older.at(-1) ?? newest).next
    if (rows.length === 0) return html`<${Empty} title=${t('none')}><p>${t('noneHelp')}</p></${Empty}>`
    const then = settingsAfter(rows, doc)
    return html`<ol class="changes">${rows.map((r, i) => html`<${Change} key=${r.id} row=${r} settings=${then[i]} jobZone=${jobZone} />`)}</ol>
      ${error && html`<${Failure} error=${error} again=${() => more(next)} />`}
      ${next && html`<div><button type="button" class="button" disabled=${busy} onClick=${() => more(next)}>${busy && html`<span class="busy"></span>`}${t('older')}</button></div>`}`
  }}</${Loaded}>`
}

/** @param {any} r */
const who = (r) => (r.kind === 'registry' ? t('registry') : r.kind === 'machine' && !r.who ? t('machine') : r.who)

/** @param {{row: any, settings: any, jobZone: string}} props */
function Change({ row: r, settings, jobZone }) {
  const [open, setOpen] = useState(false)
  const execution = r.after?.execution ?? (r.target === 'execution' ? r.targetName : '')
  const own = r.action === 'job.trigger' && r.after ? Object.entries(r.after).filter(([k]) => k !== 'execution') : []
  const text = open ? JSON.stringify(settings, null, 2) : ''
  return html`<li class="box"><div class="row"><h2>${actionWord(r.action)}</h2><span>${t('by', { who: who(r) })}</span><span class="muted"><${Time} at=${r.time} jobZone=${jobZone} exact /></span><span class="small muted"><${Time} at=${r.time} jobZone=${jobZone} /></span>
      ${execution && html`<a href=${link.execution(execution)}>${execution}</a>`}
      ${settings && ['job.register', 'job.update'].includes(r.action) && html`<button type="button" class="link-button small" onClick=${() => setOpen(true)}>${t('then')}</button>`}</div>
    ${r.action === 'job.update' && html`<${Diff} before=${r.before} after=${r.after} onlyChanges />`}
    ${own.length > 0 && html`<p class="small">${t('own')}: <code>${own.map(([k, v]) => `${k}=${typeof v === 'string' ? v : JSON.stringify(v)}`).join(' ')}</code></p>`}
    ${open && html`<${Dialog} wide title=${t('thenTitle')} onClose=${() => setOpen(false)}>
      ${/"cut: \d+ bytes"/.test(text) && html`<p class="muted">${t('cut')}</p>`}<pre class="document" tabindex="0">${text}</pre>
    </${Dialog}>`}
  </li>`
}
