// Texts in English and Chinese. Each page contains its own texts in both languages, and tsc checks that both have the same keys.
import { language } from './store.js'

/**
 * texts returns a function t(key, values). In a text, {name} stands for a value, and {n|shard|shards} for "1 shard" or "3 shards".
 * For a key without a text, such as a code of a newer server, t returns the key.
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
 * fill fills values into a text.
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

/** locale returns the locale for numbers and times. */
export const locale = () => (language.get() === 'zh' ? 'zh-CN' : 'en-GB')
