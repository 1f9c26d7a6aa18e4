// Triggers a job with settings for one run.
import { html, useState } from '../lib/html.js'
import { call, seg } from '../lib/api.js'
import { may } from '../lib/session.js'
import { texts } from '../lib/texts.js'
import { useBusy } from '../pieces/act.js'
import { Curl } from '../pieces/curl.js'
import { Dialog } from '../pieces/dialog.js'
import { toast } from '../pieces/toast.js'
import { link } from '../routes.js'

const t = texts(
  {
    trigger: 'Trigger now', triggered: 'Triggered.', show: 'Show it', own: 'Trigger with parameters', cancel: 'Cancel',
    ownTitle: 'Trigger {job} with parameters', ownHelp: 'They apply to this run only, with its retries and failover. Empty fields keep the job’s own values.', parameter: 'Job parameter', items: 'Shard parameters', itemsHelp: 'Such as 0=a,1=b', env: 'Variables', envHelp: 'One NAME=value per line, in addition to the job’s own.', envWrong: 'Line {n} has no NAME=value.', same: 'The same with curl', itsOwn: 'the job’s own: {value}', nothing: 'empty',
  },
  {
    trigger: '立即触发', triggered: '已触发一次执行。', show: '查看', own: '带参数触发', cancel: '取消',
    ownTitle: '带参数触发 {job}', ownHelp: '仅对这一次执行有效，包括其重试和失效转移。留空则使用作业自身的设置。', parameter: '作业参数', items: '分片参数', itemsHelp: '例如 0=a,1=b', env: '环境变量', envHelp: '每行一个 NAME=value，附加于作业自身的变量。', envWrong: '第 {n} 行不是 NAME=value。', same: '用 curl 完成同样的操作', itsOwn: '作业自身：{value}', nothing: '空',
  },
)

/** triggered shows a message that an execution was created, with a link to it. */
export const triggered = (/** @type {string} */ id) => toast(t('triggered'), { link: { to: link.execution(id), text: t('show') } })

/**
 * Own is the action that triggers a job with settings for one run.
 * @param {{doc: any, done: () => void}} props
 */
export function Own({ doc, done }) {
  const [open, setOpen] = useState(false)
  return html`<button type="button" class="button" onClick=${() => setOpen(true)}>${t('own')}</button>${open && html`<${OwnDialog} doc=${doc} done=${done} onClose=${() => setOpen(false)} />`}`
}

/** @param {{doc: any, done: () => void, onClose: () => void}} props */
function OwnDialog({ doc, done, onClose }) {
  const [busy, run] = useBusy()
  const [values, setValues] = useState({ jobParameter: '', shardingItemParameters: '', env: '' })
  const [error, setError] = useState(/** @type {any} */ (null))
  const set = (/** @type {string} */ key) => (/** @type {any} */ e) => setValues({ ...values, [key]: e.target.value })
  const lines = values.env.split('\n').map((l) => l.trim())
  const wrong = lines.findIndex((l) => l && !/^[^=\s]+=/.test(l))
  const env = Object.fromEntries(lines.filter((l) => l.includes('=')).map((l) => [l.slice(0, l.indexOf('=')), l.slice(l.indexOf('=') + 1)]))
  const body = {
    ...(values.jobParameter && { jobParameter: values.jobParameter }),
    ...(values.shardingItemParameters && { shardingItemParameters: values.shardingItemParameters }),
    ...(Object.keys(env).length && { env }),
  }
  const request = { method: 'POST', path: `/api/job/${seg(doc.jobName)}/trigger`, body }
  const send = () => run(async () => {
    try {
      const { executionId } = await call(request)
      triggered(executionId)
      done()
      onClose()
    } catch (e) {
      setError(e)
    }
  })
  const fault = (/** @type {string} */ field) => error?.fields?.find((/** @type {any} */ f) => f.field === field || f.field.startsWith(`${field}.`))?.message
  const placeholder = (/** @type {string} */ value) => t('itsOwn', { value: value || t('nothing') })
  const others = error && !['jobParameter', 'shardingItemParameters', 'env'].some(fault)
  return html`<${Dialog} title=${t('ownTitle', { job: doc.jobName })} onClose=${onClose} acts=${html`<button type="button" class="button" onClick=${onClose}>${t('cancel')}</button>
      <button type="button" class="button main" disabled=${busy || wrong >= 0} onClick=${send}>${busy && html`<span class="busy"></span>`}${t('trigger')}</button>`}>
    <p class="muted">${t('ownHelp')}</p>
    <${Field} label=${t('parameter')} error=${fault('jobParameter')}><input class="input" value=${values.jobParameter} placeholder=${placeholder(doc.jobParameter)} onInput=${set('jobParameter')} autocomplete="off" spellcheck="false" /></${Field}>
    <${Field} label=${t('items')} help=${t('itemsHelp')} error=${fault('shardingItemParameters')}><input class="input" value=${values.shardingItemParameters} placeholder=${placeholder(doc.shardingItemParameters)} onInput=${set('shardingItemParameters')} autocomplete="off" spellcheck="false" /></${Field}>
    ${may('admin', doc.appName) && html`<${Field} label=${t('env')} help=${t('envHelp')} error=${wrong >= 0 ? t('envWrong', { n: wrong + 1 }) : fault('env')}><textarea class="input" rows="3" value=${values.env} onInput=${set('env')} autocomplete="off" spellcheck="false"></textarea></${Field}>`}
    ${others && html`<p class="failed" role="alert">${error.message}</p>`}
    <details><summary class="small muted">${t('same')}</summary><${Curl} requests=${[request]} /></details>
  </${Dialog}>`
}

/** @param {{label: string, help?: string, error?: string, children?: any}} props */
const Field = ({ label, help, error, children }) => html`<label class="field"><span class="label">${label}</span>${children}${error ? html`<span class="error" role="alert">${error}</span>` : help && html`<span class="help">${help}</span>`}</label>`
