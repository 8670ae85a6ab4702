! Fortran: modules, derived types with procedures of their own, generic interfaces, recursion, arrays passed as slices,
! procedures inside others that are passed as arguments, formatted input and output, a stop code. Counts its own calls.
module counters
  use, intrinsic :: iso_fortran_env, only: int64
  implicit none
  integer, parameter :: most = 16
  character(len=32) :: names(most) = ''
  integer(int64) :: calls(most) = 0
contains
  subroutine called(number, name)
    integer, intent(in) :: number
    character(len=*), intent(in) :: name
    names(number) = name
    calls(number) = calls(number) + 1
  end subroutine
  subroutine print_calls()
    integer :: i
    do i = 1, most
      if (calls(i) > 0) print '("calls ", A, " ", I0)', trim(names(i)), calls(i)
    end do
  end subroutine
end module

module rods
  use counters
  implicit none
  type :: rod
    real(8), allocatable :: heat(:)
  contains
    procedure :: step => rod_step
    procedure :: total => rod_total
  end type
  type, extends(rod) :: ring
  contains
    procedure :: step => ring_step
  end type
  interface norm
    module procedure norm_integer, norm_real
  end interface
contains
  subroutine rod_step(self)
    class(rod), intent(inout) :: self
    call called(1, '__rods_MOD_rod_step')
    self%heat(2:size(self%heat) - 1) = mean(self%heat(:size(self%heat) - 2), self%heat(3:))
  end subroutine
  subroutine ring_step(self)
    class(ring), intent(inout) :: self
    real(8), allocatable :: before(:)
    call called(2, '__rods_MOD_ring_step')
    before = self%heat
    self%heat = mean(cshift(before, 1), cshift(before, -1))
  end subroutine
  function rod_total(self) result(total)
    class(rod), intent(in) :: self
    real(8) :: total
    call called(3, '__rods_MOD_rod_total')
    total = sum(self%heat)
  end function
  function mean(a, b) result(m)
    real(8), intent(in) :: a(:), b(:)
    real(8) :: m(size(a))
    call called(4, '__rods_MOD_mean')
    m = (a + b) / 2
  end function
  integer function norm_integer(n)
    integer, intent(in) :: n
    call called(5, '__rods_MOD_norm_integer')
    norm_integer = abs(n)
  end function
  real(8) function norm_real(x)
    real(8), intent(in) :: x(:)
    call called(6, '__rods_MOD_norm_real')
    norm_real = sqrt(dot_product(x, x))
  end function
  recursive integer function ackermann(m, n) result(r)
    integer, intent(in) :: m, n
    call called(7, '__rods_MOD_ackermann')
    if (m == 0) then
      r = n + 1
    else if (n == 0) then
      r = ackermann(m - 1, 1)
    else
      r = ackermann(m - 1, ackermann(m, n - 1))
    end if
  end function
  real(8) function simpson(f, from, to, parts)
    interface
      real(8) function f(x)
        real(8), intent(in) :: x
      end function
    end interface
    real(8), intent(in) :: from, to
    integer, intent(in) :: parts
    real(8) :: h
    integer :: i
    call called(8, '__rods_MOD_simpson')
    h = (to - from) / parts
    simpson = f(from) + f(to)
    do i = 1, parts - 1
      simpson = simpson + merge(4, 2, mod(i, 2) == 1) * f(from + i * h)
    end do
    simpson = simpson * h / 3
  end function
  integer function day(name)
    character(len=*), intent(in) :: name
    call called(9, '__rods_MOD_day')
    select case (name)
    case ('monday'); day = 1
    case ('tuesday'); day = 2
    case ('saturday':'sunday'); day = 6
    case default; day = 0
    end select
  end function
  integer function choose(n)
    integer, intent(in) :: n
    call called(10, '__rods_MOD_choose')
    select case (n)
    case (1); choose = norm(-n)
    case (2); choose = n * 7
    case (3); choose = ackermann(1, n)
    case (4); choose = ishft(n, 3)
    case (5); choose = n ** 3
    case (6:8); choose = 100 - n
    case default; choose = -1
    end select
  end function
  real(8) function area(power)
    integer, intent(in) :: power
    call called(11, '__rods_MOD_area')
    area = simpson(curve, 0d0, 2d0, 100)
  contains
    real(8) function curve(x)
      real(8), intent(in) :: x
      call called(12, 'curve.0')
      curve = x ** power
    end function
  end function
end module

program heat
  use rods
  implicit none
  class(rod), allocatable :: bar
  character(len=80) :: line
  integer :: i, kind, code
  real(8) :: x

  do kind = 1, 2
    if (kind == 1) then
      allocate (rod :: bar)
    else
      allocate (ring :: bar)
    end if
    bar%heat = [(merge(100d0, 0d0, mod(i, 7) == 0), i = 1, 50)]
    do i = 1, 200
      call bar%step()
    end do
    print '(A, F12.6, A, 5F9.4)', 'total', bar%total(), ' of', bar%heat(1:5)
    deallocate (bar)
  end do
  print '(I0, 1X, F8.4)', norm(-3), norm([3d0, 4d0])
  print '(A, I0)', 'ackermann ', ackermann(2, 9)
  print '(3F10.5)', (area(i), i = 1, 3)
  print '(5I4)', day('monday'), day('tuesday'), day('sunday'), day('sat'), day('')
  print '(12I5)', (choose(i), i = -1, 10)
  do
    read (*, '(A)', iostat=code) line
    if (code /= 0) exit
    read (line, *, iostat=code) x
    if (code == 0) then
      print '(A, ES12.4)', 'number', x
    else
      print '(2A)', 'no number: ', trim(line)
    end if
  end do
  call print_calls()
  stop 5
end program
