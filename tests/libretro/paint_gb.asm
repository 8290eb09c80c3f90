; Paint, for a Game Boy: a ball, moved by the pad, paints the floor; another one, moved by numbers
; that the pad has a part in, wipes it. A lifts the brush and sounds, B doubles the speed.

x = $c000       ; of two balls, in pixels
y = $c002
pad = $c004     ; right left up down A B select start, from the lowest bit
number = $c006  ; the second one's pad comes from it
count = $c007   ; of pictures
idle = $c008    ; counts as fast as it can between pictures: depends on every cycle

start:
    di
    ld sp,$fffe
first_picture:
    ldh a,[$44]
    cp 144
    jr nz,first_picture
    ld a,0      ; no picture while its memory is written
    ldh [$40],a

    ld hl,$c000
    ld b,0
clear:
    ld [hl],0
    inc hl
    dec b
    jr nz,clear
    ld hl,$fe00
    ld b,160
clear_balls:
    ld [hl],0
    inc hl
    dec b
    jr nz,clear_balls

    ld hl,$8000 ; tiles
    ld de,$4000
    ld b,80
next_byte:
    ld a,[de]
    inc de
    ld [hl+],a
    dec b
    jr nz,next_byte
    ld hl,$9800 ; the floor
    ld bc,1024
next_tile:
    ld [hl],1
    inc hl
    dec bc
    ld a,b
    or c
    jr nz,next_tile

    ld a,$e4    ; shades
    ldh [$47],a
    ldh [$48],a
    ld a,80     ; where the balls are
    ld [x],a
    ld a,72
    ld [y],a
    ld a,40
    ld [x+1],a
    ld [y+1],a
    ld a,1
    ld [number],a
    ld a,$80    ; sound
    ldh [$26],a
    ld a,$77
    ldh [$24],a
    ld a,$ff
    ldh [$25],a
    ld a,$93
    ldh [$40],a

wait:
    ld hl,idle
    inc [hl]
    ldh a,[$44]
    cp 144
    jr nz,wait

    ld c,0      ; the pictures' memory first, while it may be written
    call show
    ld a,[pad]
    and $10
    jr nz,lifted
    ld a,2
    call paint
lifted:
    ld c,1
    call show
    ld a,1
    call paint

    ld a,$20    ; four directions
    ldh [0],a
    ldh a,[0]
    ldh a,[0]
    cpl
    and 15
    ld b,a
    ld a,$10    ; four buttons
    ldh [0],a
    ldh a,[0]
    ldh a,[0]
    cpl
    and 15
    swap a
    or b
    ld [pad],a

    ld hl,count
    inc [hl]
    ld a,[count]
    and 15
    jr nz,same_number
    ld a,[pad]  ; a shift register, stirred by the pad
    ld b,a
    ld a,[number]
    sla a
    jr nc,no_carry
    xor $1d
no_carry:
    xor b
    jr nz,not_zero
    inc a
not_zero:
    ld [number],a
    ld a,[pad]
    and $10
    jr z,same_number
    ld a,$f0    ; the tone of the first ball's place
    ldh [$12],a
    ld a,[x]
    ldh [$13],a
    ld a,$87
    ldh [$14],a
same_number:
    ld a,[number]
    and $2f
    ld [pad+1],a

    ld c,0
    call move
    ld c,1
    call move
    jp wait

show:           ; ball c to the screen: y, x, tile, flags
    ld a,c
    sla a
    sla a
    ld e,a
    ld d,$fe
    ld h,$c0
    ld a,c
    add a,2
    ld l,a
    ld a,[hl]
    add a,12
    ld [de],a
    inc de
    ld l,c
    ld a,[hl]
    add a,4
    ld [de],a
    inc de
    ld a,4
    ld [de],a
    ret

paint:          ; tile a under ball c, of 32 in a row
    ld b,a
    ld h,$c0
    ld l,c
    ld a,[hl]
    srl a
    srl a
    srl a
    ld e,a
    ld a,c
    add a,2
    ld l,a
    ld a,[hl]
    and $f8
    ld l,a
    ld h,0
    add hl,hl
    add hl,hl
    ld d,$98
    add hl,de
    ld a,b
    ld [hl],a
    ret

move:
    call step
    bit 5,b
    jr z,slow
    call step
slow:
    ret

step:           ; ball c by one pixel; its pad ends in b
    ld h,$c0
    ld a,c
    add a,4
    ld l,a
    ld a,[hl]
    ld b,a
    ld l,c
    bit 0,b
    jr z,not_right
    inc [hl]
not_right:
    bit 1,b
    jr z,not_left
    dec [hl]
not_left:
    ld a,[hl]
    cp 160
    jr c,inside
    ld [hl],0   ; from one side to the other
    bit 1,b
    jr z,inside
    ld [hl],159
inside:
    ld a,c
    add a,2
    ld l,a
    bit 2,b
    jr z,not_up
    dec [hl]
not_up:
    bit 3,b
    jr z,not_down
    inc [hl]
not_down:
    ld a,[hl]
    cp 144
    jr c,within
    ld [hl],0
    bit 2,b
    jr z,within
    ld [hl],143
within:
    ret
