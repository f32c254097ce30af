/**
 * The end of what a job prints, put together of what was read and of the pieces that come meanwhile and later.
 *
 * DSH17  Pieces are put together by their offset: none twice; where some is missing, the end is to be read anew.
 */

/** Characters kept on the page. */
const KEPT = 200_000;

export class OutputText {
  text = '';
  isCut = false;
  #end = -1;
  #meanwhile: (readonly [offset: number, piece: string])[] = [];

  /** It is being read: what comes now belongs behind that. */
  begin(): void {
    this.#end = -1;
  }

  /** It was read. Whether it is whole with what came meanwhile; else it is to be read again. */
  read({ text, isCut, end }: { readonly text: string; readonly isCut: boolean; readonly end: number }): boolean {
    this.text = text;
    this.isCut = isCut;
    this.#end = end;
    const pieces = this.#meanwhile;
    this.#meanwhile = [];
    return pieces.every(([offset, piece]) => this.add(offset, piece));
  }

  /** False: something before it is missing. */
  add(offset: number, piece: string): boolean {
    if (this.#end < 0) this.#meanwhile.push([offset, piece]);
    else if (offset > this.#end) return false;
    else if (offset + piece.length > this.#end) {
      const text = this.text + piece.slice(this.#end - offset);
      this.isCut ||= text.length > KEPT;
      this.text = text.slice(-KEPT);
      this.#end = offset + piece.length;
    }
    return true;
  }
}
