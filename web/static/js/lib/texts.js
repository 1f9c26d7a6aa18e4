// Texts in English and Chinese. They stand beside the page that shows them, both languages together; tsc sees to it that
// each has the same keys.
import { language } from './store.js'

/**
 * texts gives t(key, values). {name} in a text is a value; {n|shard|shards} is "1 shard" or "3 shards".
 * A key without a text is its own, as are codes of a later server.
 * @template {Record<string, string>} T
 * @param {T} en
 * @param {{[K in keyof T]: string}} zh
 */
export function texts(en, zh) {
  /**
   * @param {keyof T & string} key
   * @param {Record<string, unknown>} [values]
   */
  return (key, values) => {
    const words = language.get() === 'zh' ? zh : en
    return fill(Object.hasOwn(words, key) ? words[key] : key, values)
  }
}

/**
 * fill puts values into a text.
 * @param {string} text
 * @param {Record<string, unknown>} [values]
 */
export function fill(text, values = {}) {
  return text.replace(/\{(\w+)(?:\|([^|}]*)\|([^}]*))?\}/g, (whole, name, one, many) => {
    if (!(name in values)) return whole
    const value = values[name]
    if (one === undefined) return String(value)
    const n = typeof value === 'number' ? value.toLocaleString(locale()) : String(value)
    return `${n} ${value === 1 ? one : many}`
  })
}

/** locale is that of numbers and times. */
export const locale = () => (language.get() === 'zh' ? 'zh-CN' : 'en-GB')
