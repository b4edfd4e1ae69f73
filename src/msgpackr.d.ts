/** The build without code generation, which the Workers runtime forbids. */
declare module "msgpackr/index-no-eval" {
  export { Packr } from "msgpackr";
}
