// Fields of a form with nested values: a list of names, and an object as JSON.
import { html, useEffect, useState } from '../lib/html.js'
import { same } from '../lib/diff.js'
import { getField } from '../lib/document.js'
import { parseObject, pretty } from '../lib/json.js'
import { Field, useForm } from './field.js'
import { jsonProblemText } from './json.js'

/**
 * useTyped keeps the text that the user typed for a value of the document. A text that cannot be parsed goes into the document
 * unchanged, and the server reports the violation.
 * @param {string} name
 * @param {(value: unknown) => string} write
 * @param {(text: string) => unknown} read parses the text; undefined removes the field
 * @returns {{typed: string, type: (e: any) => void}}
 */
function useTyped(name, write, read) {
  const form = useForm()
  const value = getField(form.doc, name)
  const [typed, setTyped] = useState(() => write(value))
  useEffect(() => {
    if (!same(read(typed), value)) setTyped(write(value)) // the field was changed elsewhere
  }, [value])
  const type = (/** @type {any} */ e) => {
    setTyped(e.target.value)
    form.set(name, read(e.target.value))
  }
  return { typed, type }
}

const writeNames = (/** @type {unknown} */ value) => (Array.isArray(value) ? value.join(', ') : '')
const readNames = (/** @type {string} */ text) => {
  const names = text.split(/[\s,]+/).filter(Boolean)
  return names.length ? names : undefined
}

/**
 * Names is the field of a list of names, separated by commas or spaces.
 * @param {import('./field.js').FieldProps & {placeholder?: string}} props
 */
export function Names(props) {
  const { typed, type } = useTyped(props.name, writeNames, readNames)
  return html`<${Field} ...${props}>${(/** @type {any} */ attributes) => html`<input ...${attributes} class="input mono" type="text" spellcheck=${false} autocomplete="off" placeholder=${props.placeholder} value=${typed} onInput=${type} />`}</${Field}>`
}

const writeTree = (/** @type {unknown} */ value) => (value === undefined || value === null ? '' : typeof value === 'string' ? value : pretty(value))
const readTree = (/** @type {string} */ text) => (text.trim() === '' ? undefined : (parseObject(text).value ?? text))

/**
 * Tree is the field of an object, as JSON.
 * @param {import('./field.js').FieldProps & {placeholder?: string}} props
 */
export function Tree(props) {
  const { typed, type } = useTyped(props.name, writeTree, readTree)
  const { problem } = typed.trim() === '' ? { problem: undefined } : parseObject(typed)
  const help = problem ? html`<span class="bad">${jsonProblemText(problem)}</span>` : props.help
  return html`<${Field} ...${props} help=${help}>${(/** @type {any} */ attributes) => html`<textarea ...${attributes} class="input mono" rows=${Math.min(30, Math.max(6, typed.split('\n').length))} wrap="off" spellcheck=${false} autocomplete="off" placeholder=${props.placeholder} value=${typed} onInput=${type}></textarea>`}</${Field}>`
}
