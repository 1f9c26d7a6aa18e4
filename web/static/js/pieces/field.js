// Fields of a form, with the label above and the help or the error below.
import { createContext, html, useContext, useEffect, useId, useRef, useState } from '../lib/html.js'
import { getField } from '../lib/document.js'
import { texts } from '../lib/texts.js'

const t = texts({ preset: 'default: {value}', given: 'given: {value}', needed: 'required' }, { preset: '默认：{value}', given: '填写的是：{value}', needed: '必填' })

/**
 * Form gives the fields of a form access to the document that they edit, and to its violations.
 * @typedef {object} Form
 * @property {import('../lib/document.js').Doc} doc
 * @property {(field: string, value: unknown) => void} set sets the value of a field; undefined removes the field, which then has its default
 * @property {(field: string) => import('../lib/api.js').Violation[]} errors returns the violations of a field that are to be shown now
 * @property {(field: string) => void} touch records that the user has left a field
 * @property {(violations: import('../lib/api.js').Violation[]) => void} refuse shows further violations, each at its field
 * @property {boolean} disabled
 */

export const FormContext = createContext(/** @type {Form} */ (/** @type {unknown} */ (null)))
/** @returns {Form} */
export const useForm = () => useContext(FormContext)

/**
 * @typedef {object} FieldProps
 * @property {string} name the field's name in the document, such as cron or props.http.url
 * @property {string} label
 * @property {any} [help]
 * @property {boolean} [needed] whether the field is required
 * @property {boolean} [wide] whether the field extends over all columns of its group
 */

/**
 * Violations shows the violations of a field, each with the rule and the given value.
 * @param {{of: import('../lib/api.js').Violation[], field?: string}} props
 */
const Violations = ({ of, field }) => html`${of.map((v) => html`<span key=${v.message} class="error-line">${v.field === field || !field ? '' : html`<code>${v.field}</code> `}${v.message}${v.value !== '' && v.value.length <= 80 && html` <span class="nowrap">(${t('given', { value: v.value })})</span>`}</span>`)}`

/**
 * Field is the frame of a field. Its child is called with the attributes of the input.
 * @param {FieldProps & {children: (attributes: Record<string, unknown>) => any}} props
 */
export function Field({ name, label, help, needed, wide, children }) {
  const form = useForm()
  const id = useId()
  const wrong = form.errors(name)
  const below = wrong.length > 0 || help
  const attributes = { id, name, disabled: form.disabled, 'aria-required': needed ? 'true' : undefined, 'aria-invalid': wrong.length > 0 ? 'true' : undefined, 'aria-describedby': below ? `${id}-help` : undefined, onBlur: () => form.touch(name) }
  return html`<div class=${`field${wide ? ' over' : ''}`}>
    <label for=${id}>${label} <code class="field-name">${name.replace(/^(props|env)\./, '')}</code>${needed && html` <span class="needed">${t('needed')}</span>`}</label>
    ${children(attributes)}
    <div id=${`${id}-help`} class=${wrong.length > 0 ? 'error' : 'help'}>${wrong.length > 0 ? html`<${Violations} of=${wrong} field=${name} />` : help}</div>
  </div>`
}

/**
 * plain returns the text of a value. A property may be an object that contains the text.
 * @param {unknown} value
 */
const plain = (value) => (value === undefined || value === null ? '' : typeof value === 'object' ? String(/** @type {any} */ (value).value ?? '') : String(value))

/**
 * Line is the input of a text. If the text has or had several lines, the input has several lines as well, because otherwise the line
 * breaks would be lost.
 * @param {Record<string, any> & {value: string, rows?: number}} props
 */
export function Line({ rows, type, list, ...all }) {
  const several = useRef(false)
  several.current ||= all.value.includes('\n')
  return rows || several.current ? html`<textarea ...${all} rows=${rows ?? 4}></textarea>` : html`<input ...${all} type=${type} list=${list} />`
}

/**
 * Text is the field of a text. An empty text is left out of the document, unless `keep` is set.
 * @param {FieldProps & {preset?: string, placeholder?: string, mono?: boolean, rows?: number, keep?: boolean, readOnly?: boolean, list?: string[], type?: string, after?: any}} props
 */
export function Text(props) {
  const { name, preset, placeholder, mono, rows, keep, readOnly, list, type, after } = props
  const form = useForm()
  const known = useId()
  const before = getField(form.doc, name)
  const set = (/** @type {any} */ e) => {
    const text = e.target.value
    form.set(name, text === '' && !keep ? undefined : typeof before === 'object' && before !== null ? { ...before, value: text } : text)
  }
  return html`<${Field} ...${props}>${(/** @type {any} */ attributes) => {
    const all = { ...attributes, class: `input${mono ? ' mono' : ''}`, readonly: readOnly, placeholder: placeholder ?? (preset === undefined ? undefined : t('preset', { value: preset })), value: plain(before), onInput: set, spellcheck: false, autocomplete: 'off' }
    return html`<${Line} ...${all} rows=${rows} type=${type ?? 'text'} list=${list && known} />
      ${list && html`<datalist id=${known}>${list.map((v) => html`<option key=${v} value=${v}></option>`)}</datalist>`}${after}`
  }}</${Field}>`
}

/**
 * NumberField is the field of a number. It keeps the text that the user typed. A text that is not a number goes into the document
 * unchanged, and the server reports the violation.
 * @param {FieldProps & {preset?: number | string, unit?: string}} props
 */
export function NumberField(props) {
  const { name, preset, unit } = props
  const form = useForm()
  const value = getField(form.doc, name)
  const [typed, setTyped] = useState(plain(value))
  const read = (/** @type {string} */ text) => (text.trim() === '' ? undefined : Number.isFinite(Number(text)) ? Number(text) : text)
  useEffect(() => {
    if (plain(read(typed)) !== plain(value)) setTyped(plain(value)) // the field was changed elsewhere
  }, [value])
  const set = (/** @type {any} */ e) => {
    setTyped(e.target.value)
    form.set(name, read(e.target.value))
  }
  return html`<${Field} ...${props}>${(/** @type {any} */ attributes) => html`<span class="with-unit"><input ...${attributes} class="input" inputmode="decimal" autocomplete="off" placeholder=${preset === undefined ? undefined : t('preset', { value: preset })} value=${typed} onInput=${set} />${unit && html`<span class="muted nowrap">${unit}</span>`}</span>`}</${Field}>`
}

/**
 * Choice is the field of a value from a list.
 * @param {FieldProps & {options: {value: string, label: string}[]}} props
 */
export function Choice(props) {
  const form = useForm()
  const value = plain(getField(form.doc, props.name))
  const options = value === '' || props.options.some((o) => o.value === value) ? props.options : [...props.options, { value, label: value }]
  return html`<${Field} ...${props}>${(/** @type {any} */ attributes) => html`<select ...${attributes} class="input" value=${value} onChange=${(/** @type {any} */ e) => form.set(props.name, e.target.value || undefined)}>
    ${options.map((o) => html`<option key=${o.value} value=${o.value}>${o.label}</option>`)}
  </select>`}</${Field}>`
}

/**
 * Check is the field of a boolean. If the document does not contain it, it shows the default, preset.
 * @param {FieldProps & {preset?: boolean}} props
 */
export function Check({ name, label, help, preset = false }) {
  const form = useForm()
  const id = useId()
  const wrong = form.errors(name)
  const value = getField(form.doc, name)
  const set = (/** @type {any} */ e) => form.set(name, e.target.checked)
  return html`<div class="field">
    <span class="check"><input id=${id} type="checkbox" name=${name} disabled=${form.disabled} aria-describedby=${`${id}-help`} checked=${value === undefined ? preset : plain(value).toLowerCase() === 'true'} onChange=${set} /><label for=${id}>${label} <code class="field-name">${name.replace(/^props\./, '')}</code></label></span>
    <div id=${`${id}-help`} class=${wrong.length ? 'error' : 'help'}>${wrong.length ? html`<${Violations} of=${wrong} field=${name} />` : help}</div>
  </div>`
}

/**
 * Group shows fields under a title.
 * @param {{title: string, children?: any}} props
 */
export const Group = ({ title, children }) => html`<fieldset class="box group-box"><legend>${title}</legend><div class="group">${children}</div></fieldset>`
