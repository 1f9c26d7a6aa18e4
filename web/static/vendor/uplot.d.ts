export { default } from 'uplot'
