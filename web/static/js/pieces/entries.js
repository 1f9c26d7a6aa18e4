// Maps of texts in a form: the environment, and properties that the job defines. A row is a name, a kind of value, and the value.
import { html, useEffect, useId, useRef, useState } from '../lib/html.js'
import { same } from '../lib/diff.js'
import { texts } from '../lib/texts.js'
import { Line, useForm } from './field.js'
import { Icon } from './icon.js'

const t = texts(
  {
    name: 'Name', kind: 'Kind', value: 'Value', text: 'text', secret: 'secret text', fromFile: 'file on the agent', fromEnv: 'variable of the agent', add: 'Add', remove: 'Remove {name}', twice: 'This name is used twice; the last one counts.',
    file: '/etc/elasticjob/secrets/…', variable: 'NAME', kept: 'A value of ****** keeps the stored secret.',
  },
  {
    name: '名称', kind: '类型', value: '值', text: '文本', secret: '敏感值', fromFile: 'Agent 上的文件', fromEnv: 'Agent 的环境变量', add: '添加', remove: '删除 {name}', twice: '名称重复，以最后一个为准。',
    file: '/etc/elasticjob/secrets/…', variable: 'NAME', kept: '值为 ****** 时保留已存储的敏感值。',
  },
)

/** @typedef {'text' | 'secret' | 'fromFile' | 'fromEnv'} Kind */
/** @typedef {{id: number, name: string, kind: Kind, value: string}} Row */

let last = 0

/** @param {Record<string, any>} map @returns {Row[]} */
export const toRows = (map) => Object.entries(map).map(([name, v]) => {
  const id = ++last
  if (typeof v !== 'object' || v === null) return { id, name, kind: 'text', value: String(v) }
  if (typeof v.fromFile === 'string') return { id, name, kind: 'fromFile', value: v.fromFile }
  if (typeof v.fromEnv === 'string') return { id, name, kind: 'fromEnv', value: v.fromEnv }
  return { id, name, kind: v.secret ? 'secret' : 'text', value: String(v.value ?? '') }
})

/** @param {Row[]} rows @returns {Record<string, any>} */
export const toMap = (rows) => Object.fromEntries(rows.filter((r) => r.name !== '').map(({ name, kind, value }) => [name, kind === 'text' ? value : kind === 'secret' ? { value, secret: true } : { [kind]: value }]))

/**
 * Entries edits the entries of a map field for which `mine` returns true. The others stay unchanged.
 * @param {{field: 'env' | 'props', label: string, help: any, kinds: Kind[], mine?: (name: string) => boolean}} props
 */
export function Entries({ field, label, help, kinds, mine = () => true }) {
  const form = useForm()
  const id = useId()
  const whole = form.doc[field] ?? {}
  const own = Object.fromEntries(Object.entries(whole).filter(([name]) => mine(name)))
  const [rows, setRows] = useState(() => toRows(own))
  const box = useRef(/** @type {HTMLDivElement | null} */ (null))
  useEffect(() => {
    if (!same(toMap(rows), own)) setRows(toRows(own)) // the field was changed elsewhere
  }, [JSON.stringify(own)])
  const change = (/** @type {Row[]} */ next) => {
    setRows(next)
    const map = { ...Object.fromEntries(Object.entries(whole).filter(([name]) => !mine(name))), ...toMap(next) }
    form.set(field, Object.keys(map).length ? map : undefined)
  }
  const set = (/** @type {Row} */ row, /** @type {Partial<Row>} */ to) => change(rows.map((r) => (r.id === row.id ? { ...r, ...to } : r)))
  const add = () => {
    setRows([...rows, { id: ++last, name: '', kind: kinds[0], value: '' }])
    requestAnimationFrame(() => /** @type {HTMLElement | null | undefined} */ (box.current?.querySelector('.entry-row:last-of-type input'))?.focus())
  }
  const words = { text: t('text'), secret: t('secret'), fromFile: t('fromFile'), fromEnv: t('fromEnv') }
  return html`<div class="field over" role="group" aria-labelledby=${id} ref=${box}>
    <span class="label" id=${id}>${label} <code class="field-name">${field}</code></span>
    ${rows.map((row) => {
      const wrong = row.name ? form.errors(`${field}.${row.name}`) : []
      const twice = row.name !== '' && rows.filter((r) => r.name === row.name).length > 1
      return html`<div key=${row.id} class="entry-row">
        <input class="input mono" aria-label=${t('name')} placeholder=${t('name')} value=${row.name} disabled=${form.disabled} aria-invalid=${wrong.length || twice ? 'true' : undefined} autocomplete="off" spellcheck=${false} onInput=${(/** @type {any} */ e) => set(row, { name: e.target.value })} onBlur=${() => form.touch(`${field}.${row.name}`)} />
        <select class="input" aria-label=${t('kind')} value=${row.kind} disabled=${form.disabled} onChange=${(/** @type {any} */ e) => set(row, { kind: e.target.value })}>${kinds.map((k) => html`<option key=${k} value=${k}>${words[k]}</option>`)}</select>
        <${Line} class="input mono" aria-label=${`${t('value')} ${row.name}`} placeholder=${row.kind === 'fromFile' ? t('file') : row.kind === 'fromEnv' ? t('variable') : t('value')} value=${row.value} disabled=${form.disabled} autocomplete="off" spellcheck=${false} onInput=${(/** @type {any} */ e) => set(row, { value: e.target.value })} />
        <button type="button" class="button icon plain" aria-label=${t('remove', { name: row.name })} title=${t('remove', { name: row.name })} disabled=${form.disabled} onClick=${() => change(rows.filter((r) => r.id !== row.id))}><${Icon} name="close" /></button>
        ${twice && html`<div class="error">${t('twice')}</div>`}
        ${wrong.map((v) => html`<div key=${v.message} class="error">${v.message}</div>`)}
      </div>`
    })}
    <div><button type="button" class="button small" disabled=${form.disabled} onClick=${add}><${Icon} name="plus" size=${12} />${t('add')}</button></div>
    <div class="help">${help} ${JSON.stringify(own).includes('******') ? t('kept') : ''}</div>
  </div>`
}
